import { BlockList, isIP } from 'node:net'

/** An entry of `links.archive.hosts`, taken apart as URL does: names in lower case, no port where it is the usual one. */
export interface AllowedHost {
  readonly protocol: 'https:' | 'http:'
  /** For `*.example.com`, what follows the asterisk and its dot. */
  readonly hostname: string
  readonly port: string
  readonly isWildcard: boolean
  /** The address it may have: the one that is spelt out, one of this machine for `localhost`, else a public one. */
  readonly addressKind: 'public' | 'loopback' | 'literal'
}

/** Parses `host`, `host:port` or `*.example.com`, https unless it begins with `http://`; null for anything else. */
export function parseAllowedHost(entry: string): AllowedHost | null {
  const parts = /^(https?:\/\/)?(\*\.)?([^\s/?#@*\\]+)\/?$/i.exec(entry)
  if (parts === null) return null
  const [, scheme = 'https://', asterisk, place] = parts
  const address = `${scheme.toLowerCase()}${place}`
  if (!URL.canParse(address)) return null
  const { protocol, hostname, port } = new URL(address)
  const isWildcard = asterisk !== undefined
  const reach = addressKind(hostname)
  // An asterisk matches names, but no numbers of an address and not a whole top-level domain.
  if (isWildcard && (reach !== 'public' || !hostname.includes('.'))) return null
  return {
    protocol: protocol as AllowedHost['protocol'],
    hostname,
    port,
    isWildcard,
    addressKind: reach,
  }
}

/** The entry that allows the address; undefined when none does. */
export function allowedBy(url: URL, hosts: readonly AllowedHost[]): AllowedHost | undefined {
  return hosts.find(
    ({ protocol, hostname, port, isWildcard }) =>
      url.protocol === protocol &&
      url.port === port &&
      (isWildcard ? url.hostname.endsWith(`.${hostname}`) : url.hostname === hostname),
  )
}

/** The IP address that a host name of a URL is, without brackets; null for a name. */
export function literalAddress(hostname: string): string | null {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(address) === 0 ? null : address
}

function addressKind(hostname: string): AllowedHost['addressKind'] {
  if (literalAddress(hostname) !== null) return 'literal'
  return hostname === 'localhost' ? 'loopback' : 'public'
}

// IANA's special-purpose registries (RFC 6890 and later), and the one metadata address that lies outside them (Azure).
const specialV4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/4',
  '240.0.0.0/4',
]
// Of IPv6 only 2000::/3 is public, without what carries an IPv4 address within it (Teredo, 6to4) or is for examples.
const globalV6 = ['2000::/3']
const specialV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const special = { ipv4: blockList('ipv4', specialV4), ipv6: blockList('ipv6', specialV6) }
const global = blockList('ipv6', globalV6)
const loopback = { ipv4: blockList('ipv4', ['127.0.0.0/8']), ipv6: blockList('ipv6', ['::1/128']) }

/** Whether an IP address belongs to the open internet: not private, loopback, link-local, shared (CGNAT), multicast,
 *  reserved or of a cloud's metadata. IPv4 addresses written as IPv6 ones (`::ffff:…`, NAT64) never do. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !special.ipv4.check(address, 'ipv4')
  // A zone (`%eth0`) belongs to a link or a site.
  if (family !== 6 || address.includes('%')) return false
  return global.check(address, 'ipv6') && !special.ipv6.check(address, 'ipv6')
}

/** Whether an IP address is this machine's own. */
export function isLoopbackAddress(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return loopback.ipv4.check(address, 'ipv4')
  return family === 6 && loopback.ipv6.check(address, 'ipv6')
}

function blockList(family: 'ipv4' | 'ipv6', ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [network = '', bits] = range.split('/')
    list.addSubnet(network, Number(bits), family)
  }
  return list
}
