import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import {
  allowedBy,
  isLoopbackAddress,
  isPublicAddress,
  parseAllowedHost,
} from '#src/web/archive/allowed-hosts.ts'

const isAllowed = (link: string, entry: string) =>
  allowedBy(new URL(link), [parseAllowedHost(entry)!]) !== undefined

test.for([
  ['files.example.com', 'https://files.example.com/a'],
  ['files.example.com', 'https://FILES.example.com:443/a'],
  ['FILES.Example.com', 'https://files.example.com/a'],
  ['https://files.example.com/', 'https://files.example.com/a'],
  ['files.example.com:8443', 'https://files.example.com:8443/a'],
  ['*.example.com', 'https://files.example.com/a'],
  ['*.example.com', 'https://a.b.example.com/a'],
  ['http://*.example.com:81', 'http://files.example.com:81/a'],
  ['http://127.0.0.1:4010', 'http://127.0.0.1:4010/a'],
  ['http://127.0.0.1:4010', 'http://0x7f.1:4010/a'],
  ['[2001:db8::1]', 'https://[2001:DB8:0::1]/a'],
  ['bücher.example', 'https://xn--bcher-kva.example/a'],
] as const)('%s allows %s', ([entry, link]) => {
  expect(isAllowed(link, entry)).toBe(true)
})

test.for([
  ['files.example.com', 'http://files.example.com/a'],
  ['http://files.example.com', 'https://files.example.com/a'],
  ['files.example.com', 'https://files.example.com:8443/a'],
  ['files.example.com:8443', 'https://files.example.com/a'],
  ['files.example.com', 'https://files.example.com./a'],
  ['files.example.com', 'https://files.example.com.evil.net/a'],
  ['files.example.com', 'https://evil.net/files.example.com'],
  ['files.example.com', 'https://files.example.com@evil.net/a'],
  ['example.com', 'https://files.example.com/a'],
  ['*.example.com', 'https://example.com/a'],
  ['*.example.com', 'https://evilexample.com/a'],
  ['*.example.com', 'https://files.example.com:8443/a'],
  ['http://127.0.0.1:4010', 'http://127.0.0.1:4011/a'],
  ['http://127.0.0.1:4010', 'http://localhost:4010/a'],
] as const)('%s does not allow %s', ([entry, link]) => {
  expect(isAllowed(link, entry)).toBe(false)
})

test('a literal address, localhost and a name have different kinds of addresses', () => {
  const entries = ['10.0.0.5', '[::1]:81', 'localhost:81', 'files.example.com', '*.example.com']

  expect(entries.map((entry) => parseAllowedHost(entry)?.addressKind)).toEqual([
    'literal',
    'literal',
    'loopback',
    'public',
    'public',
  ])
})

test.for([
  '',
  '*',
  '*.com',
  '*.localhost',
  '*.0.0.1',
  'files.*.com',
  'example.com/files',
  'user@example.com',
  'example.com?a=b',
  'example.com#a',
  'exam ple.com',
  'ftp://example.com',
  'example.com:99999',
  'a\\b',
])('"%s" is not an entry', (entry) => {
  expect(parseAllowedHost(entry)).toBe(null)
})

test('the config accepts valid entries, and names invalid ones', () => {
  const hosts = ['files.example.com', '*.example.com:8443', 'http://127.0.0.1:4010', '[::1]:81']

  const config = makeConfig({ links: { archive: { folder: 'archive', hosts } } }, '/srv')

  expect(config.links.archive).toEqual({ folder: 'archive', hosts })
  expect(makeConfig({}, '/srv').links.archive).toEqual({ folder: null, hosts: [] })
  expect(() =>
    makeConfig({ links: { archive: { hosts: ['https://example.com/files'] } } }, '/srv'),
  ).toThrow(/links\.archive\.hosts\S* is not a host: write files\.example\.com/)
})

test.for([
  '0.0.0.0',
  '10.0.0.0',
  '10.255.255.255',
  '100.64.0.1',
  '100.100.100.200',
  '127.0.0.1',
  '127.255.255.254',
  '168.63.129.16',
  '169.254.0.1',
  '169.254.169.254',
  '172.16.0.1',
  '172.31.255.255',
  '192.0.0.192',
  '192.0.2.1',
  '192.88.99.1',
  '192.168.1.1',
  '198.18.0.1',
  '198.19.255.255',
  '198.51.100.1',
  '203.0.113.1',
  '224.0.0.1',
  '239.255.255.250',
  '240.0.0.1',
  '255.255.255.255',
  '::',
  '::1',
  '::127.0.0.1',
  '::ffff:127.0.0.1',
  '::ffff:7f00:1',
  '::ffff:8.8.8.8',
  '64:ff9b::127.0.0.1',
  '64:ff9b:1::1',
  '100::1',
  '2001::1',
  '2001:db8::1',
  '2002:7f00:1::1',
  '3fff::1',
  '5f00::1',
  'fc00::1',
  'fd00:ec2::254',
  'fe80::1',
  'fe80::1%eth0',
  '2606:4700::1%eth0',
  'fec0::1',
  'ff02::1',
  'files.example.com',
  '127.1',
  '',
])('"%s" is not a public address', (address) => {
  expect(isPublicAddress(address)).toBe(false)
})

test.for([
  '1.1.1.1',
  '9.255.255.255',
  '11.0.0.0',
  '100.63.255.255',
  '100.128.0.0',
  '169.253.255.255',
  '172.15.255.255',
  '172.32.0.0',
  '192.167.255.255',
  '192.169.0.0',
  '223.255.255.255',
  '2606:4700:4700::1111',
  '2a00:1450::1',
])('%s is a public address', (address) => {
  expect(isPublicAddress(address)).toBe(true)
})

test('loopback is 127.0.0.0/8 and ::1', () => {
  const addresses = ['127.0.0.1', '127.9.9.9', '::1', '128.0.0.1', '::2', '10.0.0.1', 'localhost']

  expect(addresses.map(isLoopbackAddress)).toEqual([true, true, true, false, false, false, false])
})
