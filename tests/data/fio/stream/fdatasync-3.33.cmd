# version: fio-3.33
# exit code: 0
fio --output-format=json+ --status-interval=1 --eta=never --name=wal --directory=/tmp/fiotest --rw=write --ioengine=sync --fdatasync=1 --bs=2300 --size=4m --time_based --runtime=2 --lat_percentiles=1 --numjobs=2 --group_reporting
