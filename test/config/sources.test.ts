import { expect, test } from 'vitest'
import { parseConfig } from '#src/config/read.ts'

test('a config says where the value of each key comes from', () => {
  const text = `
keys:
  au: { value: "\${KEY_AU}", kind: partner, region: AU }
  us: { value: "\${KEY_US:-plain}", kind: partner, region: US }
  gcc: { value: typed-in, kind: partner, region: GCC }
`
  const { keySources } = parseConfig(text, '/etc/warehouse.yaml', {
    variables: { KEY_AU: 'secret' },
    cwd: '/',
  })

  expect(keySources).toEqual({
    au: 'the environment variable KEY_AU',
    us: 'the environment variable KEY_US',
    gcc: 'keys.gcc.value of warehouse.yaml',
  })
})
