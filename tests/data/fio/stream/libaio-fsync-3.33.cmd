# version: fio-3.33
# exit code: 0
fio --output-format=json+ --status-interval=1 --eta=never --name=w --directory=/tmp/fiotest --rw=randwrite --ioengine=libaio --iodepth=1 --direct=1 --fsync=1 --bs=4k --size=4m --time_based --runtime=5 --lat_percentiles=1
