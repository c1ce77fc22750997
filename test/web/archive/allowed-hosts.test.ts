import { expect, test } from 'vitest'
import { makeConfig } from '#src/app/config/read.ts'
import { allowedBy, parseAllowedHost } from '#src/web/archive/allowed-hosts.ts'

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
