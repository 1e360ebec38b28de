# 12 psync jobs erroring at different times (EIO by LD_PRELOAD shim), --output-format=json+ --status-interval=200ms --eta=never; '-merged' = 2>&1 on the same pipe, slow reader; first 300 KB
