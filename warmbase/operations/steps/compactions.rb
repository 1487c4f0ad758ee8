# Runs in the HBase shell, after compact-regions.sh has sent it there: reads store files, and compacts regions.
require 'java'
require 'json'

# One module, because the shell has commands of its own, such as `compact`.
module WarmbaseCompactions
  LOOK_SECONDS = 5
  # HBase skips a store in which another compaction runs.
  REQUESTS = 5
  # RegionServers report every three seconds, so an unchanged report is believed after so many looks.
  QUIET_LOOKS = 3
  LONGEST_SECONDS = 4800

  class << self
    def run(verb, *words)
      @link = org.apache.hadoop.hbase.client.ConnectionFactory.createConnection
      @master = @link.getAdmin
      puts "#{ENV['MARK']}#{JSON.generate(send(verb, *words))}"
    ensure
      @link.close if @link
    end

    private

    # The last report of every region of a user table, by its encoded name.
    def reports
      @master.getClusterMetrics.getLiveServerMetrics.each_with_object({}) do |(server, metrics), all|
        metrics.getRegionMetrics.each do |name, region|
          info = org.apache.hadoop.hbase.client.RegionInfo
          next if info.getTable(name).isSystemTable
          all[info.encodeRegionName(name)] = [server.getAddress.to_s, info.getTable(name).getNameAsString, region]
        end
      end
    end

    def stored
      unit = org.apache.hadoop.hbase.Size::Unit::BYTE
      reports.transform_values do |server, table, region|
        { table: table, server: server, files: region.getStoreFileCount,
          stored_bytes: region.getStoreFileSize.get(unit).to_i,
          compacted_at: region.getLastMajorCompactionTimestamp / 1000.0 }
      end
    end

    def request(name, region)
      @master.majorCompactRegion(region.getRegionName)
      @requests[name] += 1
      @quiet[name] = 0
    end

    # A region is compacted once it reports a later major compaction than before, and no compaction runs. A region that
    # is not reported was closed meanwhile.
    def compacting?(name, before, report)
      return false if report.nil?
      running = @master.getCompactionStateForRegion(report.getRegionName).to_s != 'NONE'
      return running if report.getLastMajorCompactionTimestamp > before.getLastMajorCompactionTimestamp
      @quiet[name] = running ? 0 : @quiet[name] + 1
      if @quiet[name] >= QUIET_LOOKS
        raise "#{name} was not compacted after #{REQUESTS} requests" if @requests[name] >= REQUESTS
        request(name, report)
      end
      true
    end

    def compact(*names)
      @requests, @quiet = Hash.new(0), Hash.new(0)
      before = reports.slice(*names).transform_values(&:last)
      before.each { |name, region| request(name, region) }
      open, ends = before.keys, Time.now + LONGEST_SECONDS
      until open.empty?
        raise "#{open.first} is still being compacted after #{LONGEST_SECONDS} s" if Time.now > ends
        sleep LOOK_SECONDS
        now = reports
        open = open.select { |name| compacting?(name, before[name], (now[name] || []).last) }
      end
      { compacted: before.keys }
    end
  end
end

WarmbaseCompactions.run(*JSON.parse(ENV['ARGUMENTS']))
