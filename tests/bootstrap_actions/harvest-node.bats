#!/usr/bin/env bats
# The action that uploads what EMR made of a canary's node: it leaves secrets out, and it never fails the node.
# shellcheck disable=SC2154 # bats and node.bash set what is read here

load node

setup() {
  hold_node
  put /mnt/var/lib/info/job-flow.json <<<'{"jobFlowId": "j-1ABCDEF", "jobFlowCreationInstant": 1762500000000}'
  put /var/lib/cloud/data/instance-id <<<i-0123456789abcdef0
  stub aws <<<'cat >/uploaded.tar.gz; echo "$@" >>/calls'
  stub systemd-run <<<'echo systemd-run "$@" >>/calls'
  stub rpm <<<'echo hbase-2.6.2-amzn-3.noarch'
  stub systemctl <<<'echo Restart=always'
  stub ps <<<'echo "java -Djavax.net.ssl.trustStorePassword=changeit -Xmx8g HRegionServer"'
}
teardown() { release_node; }

harvested() {
  rm -rf "$BATS_TEST_TMPDIR/harvest"
  mkdir "$BATS_TEST_TMPDIR/harvest"
  tar --extract --gzip --file="$node/uploaded.tar.gz" --directory="$BATS_TEST_TMPDIR/harvest"
}

harvest_file() { cat "$BATS_TEST_TMPDIR/harvest/$1"; }

@test "harvest-node: the archive is in the log bucket below the cluster, and two later runs are scheduled" {
  act harvest-node --log-bucket=our-logs
  assert_success
  run cat "$node/calls"
  assert_line --index 0 "s3 cp --only-show-errors - s3://our-logs/emr/j-1ABCDEF/harvest/i-0123456789abcdef0-bootstrap.tar.gz"
  assert_line --index 1 "systemd-run --on-active=5min --unit=warmbase-harvest-5 /usr/local/lib/warmbase/harvest-node.sh --log-bucket=our-logs --moment=minute-5"
  assert_line --index 2 --partial "--on-active=12min"
  harvested
  run harvest_file commands/rpm
  assert_line "hbase-2.6.2-amzn-3.noarch"
  assert_line "exit status 0: rpm -qa"
  run on_node cat /var/lib/warmbase/actions/harvest-node
  assert_line "done"
}

@test "harvest-node: a later run uploads under its own name and schedules nothing" {
  act harvest-node --log-bucket=our-logs --moment=installed
  assert_success
  run cat "$node/calls"
  assert_output "s3 cp --only-show-errors - s3://our-logs/emr/j-1ABCDEF/harvest/i-0123456789abcdef0-installed.tar.gz"
}

@test "harvest-node: secrets are left out of files, of commands, and by their file names" {
  put /etc/hadoop/conf/core-site.xml <<'XML'
<configuration>
  <property>
    <name>fs.s3a.endpoint.region</name>
    <value>eu-west-1</value>
  </property>
  <property>
    <name>ssl.server.keystore.password</name>
    <value>hidden-1</value>
  </property>
  <property><name>fs.s3a.secret.key</name><value>hidden-2</value></property>
  <property><name>fs.defaultFS</name><value>hdfs://here:8020</value></property>
</configuration>
XML
  put /var/aws/emr/bigtop-deploy/puppet/site.yaml <<'YAML'
hadoop::common_yarn::password: hidden-3
hadoop_zookeeper::port: 2181
database: mysql://user:hidden-4@host/db
hadoop::keystore_password: |
  hidden-10
  hidden-11
hadoop_hdfs::port: 8020
YAML
  put /var/aws/emr/bigtop-deploy/puppet/init.pp <<<"  admin_password => 'hidden 5', unit => 'hbase-master', key => 'AKIAABCDEFGHIJKLMNOP'"
  put /mnt/var/lib/info/userData.json <<<'{"clusterId": "j-1ABCDEF", "secretAccessKey":"hidden-6", "sessionToken": "hidden-7"}'
  put /etc/hbase/conf/id.conf <<'PEM'
before
-----BEGIN RSA PRIVATE KEY-----
hidden-8
-----END RSA PRIVATE KEY-----
after
PEM
  for name in hbase.keytab server.jks our-credentials.json tls.key; do put "/etc/hbase/conf/$name" <<<hidden-9; done
  act harvest-node --log-bucket=our-logs
  assert_success
  harvested
  run grep -rl -e hidden -e AKIA -e changeit "$BATS_TEST_TMPDIR/harvest"
  assert_output ""
  run harvest_file files/etc/hadoop/conf/core-site.xml
  assert_line "    <value>eu-west-1</value>"
  assert_line --partial "<value>hdfs://here:8020</value>"
  assert_line "    <value>(masked)</value>"
  run harvest_file files/var/aws/emr/bigtop-deploy/puppet/site.yaml
  assert_line "hadoop_zookeeper::port: 2181"
  assert_line "hadoop_hdfs::port: 8020"
  run harvest_file files/var/aws/emr/bigtop-deploy/puppet/init.pp
  assert_line --partial "unit => 'hbase-master'"
  run harvest_file files/mnt/var/lib/info/userData.json
  assert_line --partial '"clusterId": "j-1ABCDEF"'
  run harvest_file files/etc/hbase/conf/id.conf
  assert_output "before
(masked)
after"
  run ls "$BATS_TEST_TMPDIR/harvest/files/etc/hbase/conf"
  assert_output "id.conf"
  run harvest_file commands/processes
  assert_line --partial "-Xmx8g HRegionServer"
}

@test "harvest-node: a node without any of it, and without S3, starts all the same" {
  stub aws <<<'cat >/dev/null; exit 1'
  stub systemd-run <<<'exit 1'
  on_node rm /mnt/var/lib/info/job-flow.json
  act harvest-node --log-bucket=our-logs
  assert_success
  assert_output --partial "could not complete: upload"
}

@test "harvest-node: bad arguments fail before anything is read" {
  act harvest-node --log-bucket=Our_Logs --moment='a b'
  assert_failure 2
  assert_output --partial "--log-bucket='Our_Logs': must be a bucket's name"
  assert_output --partial "--moment='a b'"
}
