import { expect, test } from 'vitest'
import { parseConfig } from '#src/app/config/read.ts'

test('a config says where the value of each key comes from', () => {
  const text = `
keys:
  au: { value: "\${KEY_AU}", kind: partner, region: AU }
  us: { value: "\${KEY_US:-plain}", kind: partner, region: US }
  gcc: { value: typed-in, kind: partner, region: GCC }
  file: { value: "\${KEY_FILE}", kind: partner, region: AU }
vehicleData: { apiKey: "\${KEY_DATA}" }
`
  const { keySources, vehicleDataKeySource } = parseConfig(text, '/etc/warehouse.yaml', {
    variables: { KEY_AU: 'secret', KEY_FILE: 'secret', KEY_DATA: 'secret' },
    ofDotEnv: new Set(['KEY_FILE']),
    cwd: '/',
  })

  expect(keySources).toEqual({
    au: 'the environment variable KEY_AU, named in warehouse.yaml',
    us: 'the environment variable KEY_US, named in warehouse.yaml',
    gcc: 'keys.gcc.value of warehouse.yaml',
    file: 'the variable KEY_FILE in .env',
  })
  expect(vehicleDataKeySource).toBe('the environment variable KEY_DATA, named in warehouse.yaml')
})
