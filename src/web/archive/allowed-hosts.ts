import { isIP } from 'node:net'

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
