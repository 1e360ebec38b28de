# version: fio-3.42
# exit code: 0
fio --output-format=json+ --status-interval=1 --eta=never job.fio
--- job file job.fio
[global]
ioengine=http
http_mode=s3
http_host=127.0.0.1:9000
https=off
http_s3_region=us-east-1
http_s3_keyid=${AWS_ACCESS_KEY_ID}
http_s3_key=${AWS_SECRET_ACCESS_KEY}
filename_format=/bench/benchtui/local/$jobnum.$filenum
filesize=16k
nrfiles=300
file_service_type=sequential
group_reporting=1
; added by benchtui
lat_percentiles=1
percentile_list=1:5:10:25:50:75:90:95:99:99.5:99.9:99.95:99.99
exitall_on_error=1
randrepeat=0
randseed=1210631352

[delete]
rw=trim
bs=16k
numjobs=2
