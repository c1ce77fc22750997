import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'

const script = fileURLToPath(new URL('type-list.ts', import.meta.url))
/**
 * The heap in which a list of any length must be read. Without a limit the process grows by what the garbage collector leaves
 * (77 to 153 MB for the same list); with it by 36 to 52 MB for 60 to 480 MB, the more the slower the machine, and a list that stays in memory ends the process.
 */
const heap = ['--max-old-space-size=64', '--max-semi-space-size=8']
const mostGrown = 80
/** MB; `FORECOURT_MEMORY_CSV_MB=1024` reads a whole GB instead. */
const large = Number(process.env['FORECOURT_MEMORY_CSV_MB'] ?? 80)

/** Growth in MB of a separate process that reads and types a list of this size. */
async function growthOver(megabytes: number): Promise<number> {
  const startedAt = performance.now()

  const { stdout } = await promisify(execFile)(process.execPath, [
    ...heap,
    script,
    String(megabytes * 1024 ** 2),
  ])

  const { accepted, bytes, grown } = JSON.parse(stdout)
  const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
  console.log(
    `${megabytes} MB of CSV: ${accepted} rows typed in ${seconds} s, grown by ${grown.toFixed(0)} MB`,
  )
  expect(bytes).toBeGreaterThanOrEqual(megabytes * 1024 ** 2)
  expect(accepted).toBeGreaterThan(bytes / 200)
  return grown
}

test('reading and typing a stock list takes no more memory the longer it is', {
  timeout: 1_200_000,
}, async () => {
  const short = await growthOver(large / 2)
  const long = await growthOver(large)

  expect(long).toBeLessThan(mostGrown)
  expect(long - short).toBeLessThan(mostGrown / 4)
})
