aws emr create-cluster --name "Test cluster" --release-label emr-5.34.0 \
--applications Name=HBase --use-default-roles --ec2-attributes KeyName=myKey \
--instance-type m5.xlarge --instance-count 3
