# Runs in the HBase shell, sent by heal-locality.sh: reads where blocks of store files are, and moves replicas to their
# RegionServers by the dispatcher of HDFS's balancer.
require 'java'
require 'json'

module WarmbaseLocality
  HBASE = org.apache.hadoop.hbase
  HDFS = org.apache.hadoop.hdfs
  DISPATCHER = HDFS.server.balancer.Dispatcher
  FILE = org.apache.hadoop.fs.Path
  # The balancer's own: only one of both runs.
  ID_FILE = FILE.new('/system/balancer.id')
  MOVES = 8 # that a DataNode receives at a time
  BATCH_SECONDS = 60
  FREE_FRACTION = 0.1
  MOST = java.lang.Long::MAX_VALUE

  class << self
    def run(verb, *words)
      @conf = HBASE.HBaseConfiguration.create(HDFS.HdfsConfiguration.new)
      @fs = HBASE.util.CommonFSUtils.getRootDir(@conf).getFileSystem(@conf)
      @link = HBASE.client.ConnectionFactory.createConnection(@conf)
      reply = send(verb, *words.map(&:to_i))
    rescue java.lang.Throwable, StandardError => error
      reply = { error: error.message.to_s.lines.first }
    ensure
      @link.close if @link
      puts "#{ENV['MARK']}#{JSON.generate(reply)}"
    end

    private

    # The next compaction rewrites a reference, which a split leaves.
    def resolved(path)
      if HBASE.io.HFileLink.isHFileLink(path)
        HBASE.io.HFileLink.buildFromHFileLinkPattern(@conf, path).getFileStatus(@fs).getPath
      elsif !HBASE.regionserver.StoreFileInfo.isReference(path)
        path
      end
    end

    # A file that a compaction replaces meanwhile has no blocks.
    def blocks_of(path)
      path ? @fs.getLocatedBlocks(path, 0, MOST).locatedBlocks.reject(&:isStriped) : []
    rescue java.io.FileNotFoundException
      []
    end

    def blocks(server)
      master, there = @link.getAdmin, @link.getAdmin(server)
      master.getRegions(server).flat_map do |info|
        master.getDescriptor(info.getTable).getColumnFamilyNames.flat_map do |family|
          files = HBASE.shaded.protobuf.ProtobufUtil.getStoreFiles(there, info.regionName, family)
          files.flat_map { |name| blocks_of(resolved(FILE.new(name))) }
        end
      end
    end

    def host(server)
      server[/.*(?=:)/]
    end

    def on?(host, block)
      block.locations.any? { |node| node.hostName == host }
    end

    # The replicas to move, with the places where no region needs them, fullest first.
    def scan
      @metrics = @link.admin.clusterMetrics
      @blocks = @metrics.liveServerMetrics.keySet.to_h { |name| [name.address.to_s, blocks(name)] }
      @nodes = @fs.getDataNodeStats(HDFS.protocol.HdfsConstants::DatanodeReportType::LIVE)
      room = @nodes.to_h { |node| [node.hostName, node.remaining - FREE_FRACTION * node.capacity] }
      needed = Hash.new { |all, id| all[id] = [] }
      @blocks.each { |server, all| all.each { |block| needed[block.block] << host(server) } }
      @moves = @blocks.flat_map do |server, all|
        home = host(server)
        all.reject { |block| on?(home, block) }.map do |block|
          spare = block.locations.reject { |node| needed[block.block].include?(node.hostName) }
          next if spare.empty? || room.fetch(home, 0) < block.blockSize
          room[home] -= block.blockSize
          { home: home, block: block, spare: spare.sort_by { |node| -node.dfsUsedPercent } }
        end.compact
      end
    end

    def bytes(moves)
      moves.sum { |move| move[:block].blockSize }
    end

    def locality
      scan
      servers = @blocks.to_h do |server, all|
        home = host(server)
        moves = @moves.select { |move| move[:home] == home }
        sent = @moves.select { |move| move[:spare][0].hostName == home }
        [server, { bytes: all.sum(&:blockSize), moves: moves.size, moved_bytes: bytes(moves), sent_bytes: bytes(sent),
                   local_bytes: all.select { |block| on?(home, block) }.sum(&:blockSize) }]
      end
      { servers: servers, in_transition: @metrics.regionStatesInTransition.size, bandwidth: bandwidth }
    end

    def bandwidth
      utility = HDFS.DFSUtilClient
      @nodes.map { |node| utility.createClientDatanodeProtocolProxy(node, @conf, 60_000, false).balancerBandwidth }.min
    end

    # Begins no moves after so many seconds. The DataNodes have the bandwidth only meanwhile.
    def relocate(limit, seconds)
      scan
      balancer = connector(8)
      before, ends = bandwidth, Time.now + seconds
      @fs.setBalancerBandwidth(limit)
      open(balancer)
      dispatch(limit * BATCH_SECONDS) until @moves.empty? || Time.now > ends
      { moved_bytes: balancer.bytesMoved.get }.merge(locality)
    ensure
      @dispatcher.shutdownNow if @dispatcher
      balancer.close if balancer
      @fs.setBalancerBandwidth(before) if before
    end

    # A killed step has the lock file for another minute.
    def connector(tries)
      HDFS.server.balancer.NameNodeConnector.new('Balancer', @fs.uri, ID_FILE, nil, @conf, 5)
    rescue java.io.IOException
      raise if tries.zero?
      sleep 15
      connector(tries - 1)
    end

    def open(balancer)
      none = java.util.HashSet.new
      @dispatcher = DISPATCHER.new(balancer, none, none, 5_400_000, MOVES * @nodes.size, 0, MOVES, 60_000, @conf)
      @sources, @targets = {}, {}
      @dispatcher.init.each do |report|
        node = @dispatcher.newDatanode(report.datanodeInfo)
        org.apache.hadoop.fs.StorageType.getMovableTypes.each do |type|
          key = [report.datanodeInfo.hostName, type]
          @sources[key], @targets[key] = node.addSource(type, MOST, @dispatcher), node.addTarget(type, MOST)
        end
      end
    end

    def dispatch(most)
      taken = Hash.new(0)
      batch, @moves = @moves.partition { |move| taken[move[:home]] < most && taken[move[:home]] += bytes([move]) }
      batch.each { |move| move[:spare].any? { |node| begun?(move, node) } }
      DISPATCHER.waitForMoveCompletion(@targets.values)
    end

    # The dispatcher has no node that leaves, and refuses moves against the placement policy.
    def begun?(move, node)
      places = move[:block].locations.map { |place| @sources[[place.hostName, place.storageType]] }.compact
      origin, target = @sources[[node.hostName, node.storageType]], @targets[[move[:home], node.storageType]]
      return unless origin && target
      block = DISPATCHER::DBlock.new(move[:block].block.localBlock)
      ([origin] + (places - [origin])).each { |place| block.addLocation(place) }
      pending = origin.addPendingMove(block, target)
      @dispatcher.executePendingMove(pending) if pending
      pending
    end
  end
end

WarmbaseLocality.run(*JSON.parse(ENV['ARGUMENTS']))
$stdout.flush
java.lang.System.exit(0) # the dispatcher's threads remain
