# Runs in the HBase shell, after control-regions.sh has sent it there: reads and moves regions, switches the balancer,
# reopens tables.
require 'java'
require 'json'

# One module, because the shell has commands of its own, such as `balancer`.
module WarmbaseRegions
  BYTES = org.apache.hadoop.hbase.util.Bytes
  NAMES = org.apache.hadoop.hbase.TableName
  CLIENT = org.apache.hadoop.hbase.client
  MOVE_SECONDS = 120
  AGAIN_SECONDS = 10
  META = 'hbase:meta'

  class << self
    def run(verb, *words)
      conf = org.apache.hadoop.hbase.HBaseConfiguration.create
      # While the server of hbase:meta restarts, every question waits for it, for minutes.
      conf.setInt('hbase.client.retries.number', 60)
      @link = CLIENT.ConnectionFactory.createConnection(conf)
      @master = @link.getAdmin
      puts "#{ENV['MARK']}#{JSON.generate(send(verb, *words))}"
    ensure
      @link.close if @link
    end

    private

    # The versions of a column of hbase:meta, newest first.
    def versions(row, column)
      row.getColumnCells(BYTES.toBytes('info'), BYTES.toBytes(column)).map do |cell|
        BYTES.toString(org.apache.hadoop.hbase.CellUtil.cloneValue(cell))
      end
    end

    # A region that was opened on two servers in a row would return to the first when the second restarts.
    def region(row, table)
      servers = versions(row, 'server').first(2)
      open = versions(row, 'state').first == 'OPEN'
      { table: table, server: open ? servers.first : nil, moved: servers.uniq.size > 1 }
    end

    def catalogue
      @link.getTable(NAMES::META_TABLE_NAME)
    end

    # The rows of hbase:meta with their regions; a region that was split is none any more.
    def rows
      scan = CLIENT.Scan.new.addFamily(BYTES.toBytes('info')).readVersions(2).setCaching(1000)
      catalogue.getScanner(scan).map do |row|
        bytes = row.getValue(BYTES.toBytes('info'), BYTES.toBytes('regioninfo'))
        [row, bytes && CLIENT.RegionInfo.parseFromOrNull(bytes)]
      end.reject { |_, info| info.nil? || info.isSplitParent }
    end

    # Every region of the enabled tables.
    def regions
      enabled = Hash.new { |known, name| known[name] = @master.isTableEnabled(name) }
      rows.each_with_object({}) do |(row, info), all|
        next unless enabled[info.getTable]
        all[info.getEncodedName] = region(row, info.getTable.getNameAsString)
      end
    end

    def meta
      place = @link.getRegionLocator(NAMES::META_TABLE_NAME).getRegionLocation(BYTES.toBytes(''), true)
      server = place.getServerName
      { place.getRegion.getEncodedName => { table: META, server: server && server.getAddress.to_s, moved: false } }
    end

    # The live servers by their addresses.
    def servers
      @master.getClusterMetrics.getLiveServerMetrics.keySet.map { |server| [server.getAddress.to_s, server] }.to_h
    end

    # The names of the store files that each server has open for its regions of user tables.
    def files
      families = Hash.new { |known, name| known[name] = @master.getDescriptor(name).getColumnFamilyNames.to_a }
      util = org.apache.hadoop.hbase.shaded.protobuf.ProtobufUtil
      servers.each_value.with_object({}) do |server, all|
        there = @link.getAdmin(server)
        @master.getRegions(server).reject { |info| info.getTable.isSystemTable }.each do |info|
          all[info.getEncodedName] = families[info.getTable].flat_map do |family|
            util.getStoreFiles(there, info.getRegionName, family).map { |path| File.basename(path) }
          end
        end
      end
    end

    # Each word is REGION@SERVER. A pause follows each move. A region that was split or dropped meanwhile is left out.
    # The region of hbase:meta has no row.
    def move(pause_seconds, *words)
      keys = rows.map { |row, info| [info.getEncodedName, row.getRow] }.to_h.merge(meta.keys.first => META)
      moves = words.map { |word| word.split('@') }.select { |name, _| keys[name] }
      moves.each do |name, address|
        carry(name, keys[name], servers[address] || raise("#{address} is not a live server"))
        sleep pause_seconds.to_f
      end
      { moved: moves.map(&:first) }
    end

    # The master picks another server for a region whose target has just joined, so a move is asked for again.
    def carry(name, key, server)
      ends, asked = Time.now + MOVE_SECONDS, Time.at(0)
      loop do
        here = key == META ? meta[name][:server] : region(catalogue.get(CLIENT.Get.new(key)), nil)[:server]
        return if here == server.getAddress.to_s
        raise "#{name} is not open on #{server} after #{MOVE_SECONDS} s" if Time.now > ends
        if here && Time.now - asked > AGAIN_SECONDS
          @master.move(BYTES.toBytes(name), server)
          asked = Time.now
        end
        sleep 0.2
      end
    end

    def state
      metrics = @master.getClusterMetrics
      servers = metrics.getLiveServerMetrics.keySet.sort_by { |server| server.getStartcode }
      { servers: servers.map { |server| [server.getAddress.to_s, server.getStartcode] }.to_h,
        regions: meta.merge(regions),
        in_transition: metrics.getRegionStatesInTransition.size,
        balancer_is_on: @master.isBalancerEnabled }
    end

    # The second argument waits for the balancer where it is at work.
    def balancer(word)
      { was_on: @master.balancerSwitch(word == 'on', true) }
    end

    # A table that is modified without a change reopens its regions in place.
    def reopen(*tables)
      tables.each { |table| @master.modifyTable(@master.getDescriptor(NAMES.valueOf(table))) }
      { reopened: tables }
    end
  end
end

WarmbaseRegions.run(*JSON.parse(ENV['ARGUMENTS']))
