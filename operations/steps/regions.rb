# Runs in the HBase shell, after control-regions.sh has sent it there: reads regions, switches the balancer, reopens tables.
require 'java'
require 'json'

# One module, because the shell has commands of its own, such as `balancer`.
module WarmbaseRegions
  BYTES = org.apache.hadoop.hbase.util.Bytes
  NAMES = org.apache.hadoop.hbase.TableName
  CLIENT = org.apache.hadoop.hbase.client

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

    # Every region of the enabled tables; a region that was split is none any more.
    def regions
      enabled = Hash.new { |known, name| known[name] = @master.isTableEnabled(name) }
      scan = CLIENT.Scan.new.addFamily(BYTES.toBytes('info')).readVersions(2).setCaching(1000)
      @link.getTable(NAMES::META_TABLE_NAME).getScanner(scan).each_with_object({}) do |row, all|
        bytes = row.getValue(BYTES.toBytes('info'), BYTES.toBytes('regioninfo'))
        info = bytes && CLIENT.RegionInfo.parseFromOrNull(bytes)
        next if info.nil? || info.isSplitParent || !enabled[info.getTable]
        all[info.getEncodedName] = region(row, info.getTable.getNameAsString)
      end
    end

    def meta
      place = @link.getRegionLocator(NAMES::META_TABLE_NAME).getRegionLocation(BYTES.toBytes(''), true)
      server = place.getServerName
      { place.getRegion.getEncodedName => { table: 'hbase:meta', server: server && server.getAddress.to_s, moved: false } }
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

WarmbaseRegions.run(*ENV['ARGUMENTS'].split)
