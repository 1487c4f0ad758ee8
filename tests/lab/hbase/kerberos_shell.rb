# The commands of HBase's shell that the steps and the test use, on the real client: Maven Central has no hbase-shell.
require 'java'
require 'json'
CLIENT = org.apache.hadoop.hbase.client
USERS = org.apache.hadoop.security.UserGroupInformation
ACL = org.apache.hadoop.hbase.security.access
CONF = org.apache.hadoop.hbase.HBaseConfiguration.create
CONF.setInt('hbase.client.retries.number', 1)

def connection = @connection ||= CLIENT.ConnectionFactory.createConnection(CONF)
def admin = connection.getAdmin
def name(table) = org.apache.hadoop.hbase.TableName.valueOf(table)

def list
  tables = admin.listTableNames.map(&:getNameAsString)
  puts 'TABLE', tables, "#{tables.size} row(s)"
end

def disable_all = admin.listTableNames.each { |table| admin.disableTable(table) if admin.isTableEnabled(table) }
def is_disabled(table) = puts(admin.isTableDisabled(name(table)))
def flush(table) = admin.flush(name(table))

def create(table)
  family = CLIENT.ColumnFamilyDescriptorBuilder.of('f')
  admin.createTable(CLIENT.TableDescriptorBuilder.newBuilder(name(table)).setColumnFamily(family).build)
end

def grant(user, rights, table)
  actions = rights.chars.map { |right| ACL.Permission::Action.values.find { |action| action.name[0] == right } }
  ACL.AccessControlClient.grant(connection, name(table), user, nil, nil, actions.to_java(ACL.Permission::Action))
end

def put(table, row, value)
  change = CLIENT.Put.new(row.to_java_bytes).addColumn('f'.to_java_bytes, 'q'.to_java_bytes, value.to_java_bytes)
  connection.getTable(name(table)).put(change)
end

def get(table, row)
  value = connection.getTable(name(table)).get(CLIENT.Get.new(row.to_java_bytes)).value
  puts "#{row}=#{value && String.from_java_bytes(value)}"
end

# Runs the block as another principal of the keytab, with connections of its own.
def as(user, keytab)
  before, @connection = @connection, nil
  USERS.setConfiguration(CONF)
  work = Class.new { include java.security.PrivilegedExceptionAction }.new
  block = -> { yield }
  work.define_singleton_method(:run) { block.call }
  USERS.loginUserFromKeytabAndReturnUGI(user, keytab).java_send(:doAs, [java.security.PrivilegedExceptionAction], work)
ensure
  @connection = before
end

# Tries again for half a minute: the master is still starting, or a grant has not reached the RegionServer yet.
def eventually
  tries ||= 0
  yield
rescue Exception
  raise if (tries += 1) > 60
  sleep 0.5
  retry
end

def available(table) = admin.isTableAvailable(name(table)) || raise("#{table} is not available")

# Says what the server answers, in one line, where the block is refused.
def refused
  yield
  puts 'served'
rescue Exception => error
  cause = error
  cause = cause.cause while cause.respond_to?(:cause) && cause.cause && cause.cause != cause
  puts "refused: #{cause.class}: #{error.message.lines.first.to_s.strip} / #{cause.message.to_s.lines.first.to_s.strip}"
end

begin
  eval($stdin.read)
rescue Exception => error
  warn "ERROR: #{error.message}"
  exit! 1
end
$stdout.flush
java.lang.Runtime.getRuntime.halt(0)
