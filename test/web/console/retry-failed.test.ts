import { expect, test } from 'vitest'
import { chooseRooftops } from '#src/app/config/choose-rooftops.ts'
import { type Config, makeConfig } from '#src/app/config/read.ts'
import { retryAction } from '#src/web/console/runs/retry-failed.ts'

/** A config with these rooftops, by uid. */
function configOf(uids: readonly string[]): Config {
  const rooftops = uids.map((uid, at) => ({
    ...{ uid, name: `Rooftop ${at + 1}`, dealerId: at + 1, key: 'au' },
    ...({ region: 'AU', timezone: 'Australia/Sydney', currency: 'AUD' } as const),
  }))
  const keys = { au: { value: 'secret', kind: 'partner', region: 'AU' } } as const
  return makeConfig({ keys, rooftops }, '/nowhere')
}

/** What the page prints about a run in which evaluations failed at these rooftops, as its reader types it. */
function printed(failed: readonly string[], config: Config) {
  const failures = failed.map((uid) => ({ uid, stream: 'evaluations', repairedBy: null }))
  const text = retryAction(7, failures, config)!.text.replaceAll(/&#(\d+);/g, (_, code: string) =>
    String.fromCharCode(Number(code)),
  )
  const [, line = ''] = /<code>forecourt ([^<]+)<\/code>/.exec(text) ?? []
  const words = [...line.matchAll(/'((?:[^']|'\\'')*)'|(\S+)/g)].map(
    ([, quoted, plain]) => quoted?.replaceAll(`'\\''`, "'") ?? plain!,
  )
  const named = words.filter((_, at) => words[at - 1] === '--rooftop')
  return { text, words, named }
}

test('the command to repeat what failed names no rooftop that has left the config', () => {
  const config = configOf(['north', 'south'])
  const { text, named } = printed(['north', 'retired'], config)

  expect(chooseRooftops(config, named).map(({ uid }) => uid)).toEqual(['north'])
  expect(text).toContain('Sync 1 failed rooftop again')
  expect(text).toContain('What failed at 1 rooftop stays as it is: the config no longer names it.')
  expect(printed(['retired'], config).text).not.toContain('forecourt sync')
})

test('it quotes uids for a shell', () => {
  const uids = ["O'Neill & Sons", '$HOME']
  const { words } = printed(uids, configOf(uids))

  expect(words.toSorted()).toEqual(
    ['sync', 'evaluations', ...uids.flatMap((uid) => ['--rooftop', uid])].toSorted(),
  )
})

test('for more rooftops than it can name it is the command for all of them', () => {
  const uids = Array.from({ length: 30 }, (_, at) => `rooftop-${at}`)
  const { text, words } = printed(uids.slice(0, 11), configOf(uids))

  expect(words).toEqual(['sync', 'evaluations'])
  expect(text).toContain('in its own process, for all rooftops:')
})
