# A kinit for machines without one: `-k -t KEYTAB -c FILE:CACHE PRINCIPAL`, by the client library of the lab's KDC.
require 'java'
_, _, keytab, _, cache, principal = ARGV
client = org.apache.kerby.kerberos.kerb.client.KrbClient.new(java.io.File.new(ENV.fetch('KRB5_DIRECTORY')))
client.init
ticket = client.requestTgt(principal, java.io.File.new(keytab))
client.storeTicket(ticket, java.io.File.new(cache.delete_prefix('FILE:')))
