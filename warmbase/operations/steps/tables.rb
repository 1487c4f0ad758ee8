# Runs in the HBase shell, after change-tables.sh has sent it there: reads and changes column families, reopens a region.
require 'java'
require 'json'

# One module, because the shell has commands of its own, such as `alter`.
module WarmbaseTables
  BYTES = org.apache.hadoop.hbase.util.Bytes
  NAMES = org.apache.hadoop.hbase.TableName
  CLIENT = org.apache.hadoop.hbase.client
  # The attributes that a plan decides, each with the method that returns its value, even if that is a default.
  GETTERS = {
    'BLOCKSIZE' => :getBlocksize, 'BLOOMFILTER' => :getBloomFilterType, 'BLOCKCACHE' => :isBlockCacheEnabled,
    'DATA_BLOCK_ENCODING' => :getDataBlockEncoding, 'COMPRESSION' => :getCompressionType,
    'PREFETCH_BLOCKS_ON_OPEN' => :isPrefetchBlocksOnOpen, 'CACHE_DATA_ON_WRITE' => :isCacheDataOnWrite,
    'EVICT_BLOCKS_ON_CLOSE' => :isEvictBlocksOnClose
  }.freeze
  # The keys of hbase-site.xml that a family may override, so that it is not cached.
  CONFIGURED = %w[hbase.rs.prefetchblocksonopen hbase.rs.cacheblocksonwrite hbase.rs.cachecompactedblocksonwrite].freeze
  LOAD_KEY = 'warmbase.before.load'
  BATCH_KEY = 'hbase.reopen.table.regions.progressive.batch.size.max'
  OPEN_SECONDS = 120

  class << self
    def run(verb, *words)
      @conf = org.apache.hadoop.hbase.HBaseConfiguration.create
      @link = CLIENT.ConnectionFactory.createConnection(@conf)
      @master = @link.getAdmin
      puts "#{ENV['MARK']}#{JSON.generate(send(verb.tr('-', '_'), *words))}"
    ensure
      @link.close if @link
    end

    private

    # The most regions that a change reopens at once, the attributes of each family, and the tables that have the
    # settings of an initial load.
    def families
      tables = @master.listTableDescriptors.select { |table| @master.isTableEnabled(table.getTableName) }
      attributes = tables.map do |table|
        [table.getTableName.getNameAsString, table.getColumnFamilies.map do |family|
          [family.getNameAsString, settings_of(family)]
        end.to_h]
      end
      loading = tables.select { |table| table.getValue(LOAD_KEY) }.map { |table| table.getTableName.getNameAsString }
      { most_regions: @conf.getInt(BATCH_KEY, -1), tables: attributes.to_h, loading: loading }
    end

    def settings_of(family)
      configured = CONFIGURED.to_h { |key| [key, family.getConfigurationValue(key)] }.compact
      GETTERS.transform_values { |getter| family.public_send(getter).to_s }.merge(configured)
    end

    # The regions keep the old attributes until they are opened again. The name of a family may
    # contain anything but a colon and control characters.
    def change(table, *words)
      descriptor = @master.getDescriptor(NAMES.valueOf(table))
      changed = CLIENT.TableDescriptorBuilder.newBuilder(descriptor)
      words.map { |word| word.match(/\A([^:]+):([A-Za-z_.]+)=(.*)\z/m).captures }.group_by(&:first).each do |name, settings|
        old = descriptor.getColumnFamily(BYTES.toBytes(name)) || raise("#{table} has no family #{name}")
        family = CLIENT.ColumnFamilyDescriptorBuilder.newBuilder(old)
        settings.each { |_, name, value| set(family, name, value) }
        changed.modifyColumnFamily(family.build)
      end
      @master.modifyTable(changed.build, false)
      { changed: table }
    end

    # Sets an attribute or, if the name has dots, a key of the configuration. An empty value removes the key.
    def set(family, name, value)
      if !name.include?('.')
        family.setValue(name, value)
      elsif value.empty?
        family.removeConfiguration(name)
      else
        family.setConfiguration(name, value)
      end
    end

    # Closes a region; the master opens it on its last server again, with the attributes that the table has now. Returns
    # once a row can be read.
    def reopen_region(name)
      # A region that is closed already only has to be opened: an earlier step ended after it had closed it.
      begin
        @master.unassign(BYTES.toBytes(name), false)
      rescue org.apache.hadoop.hbase.client.DoNotRetryRegionException => e
        warn e.message
      end
      @master.assign(BYTES.toBytes(name))
      ends = Time.now + OPEN_SECONDS
      until (server = holder(name))
        raise "#{name} is not open after #{OPEN_SECONDS} s" if Time.now > ends
        sleep 0.5
      end
      { reopened: name, server: server }
    end

    # The server that has the region open, once it has answered a read.
    def holder(name)
      @master.getRegionServers.each do |server|
        info = @master.getRegions(server).find { |candidate| candidate.getEncodedName == name }
        next if info.nil?
        scan = CLIENT.Scan.new.withStartRow(info.getStartKey).withStopRow(info.getEndKey).setLimit(1)
        @link.getTable(info.getTable).getScanner(scan).next
        return server.getAddress.to_s
      end
      nil
    end
  end
end

WarmbaseTables.run(*JSON.parse(ENV['ARGUMENTS']))
