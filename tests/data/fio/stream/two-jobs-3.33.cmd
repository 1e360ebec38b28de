fio --output-format=json+ --status-interval=1 --eta=never job.fio  # job.fio:
# [global]
# ioengine=psync
# size=8m
# runtime=5
# time_based=1
# group_reporting=1
# lat_percentiles=1
# rate_iops=2000
# [reader]
# rw=randread
# bs=4k
# [writer]
# new_group=1
# rw=randwrite
# bs=16k
# fdatasync=8
# rate_iops=200
