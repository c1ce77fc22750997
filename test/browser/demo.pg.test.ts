import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { stopEmbedded } from '#src/warehouse/db/embedded.ts'
import { startForecourt, until } from '../support/child.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/temporary-folder.ts'
import { launch } from './browser.ts'

let folder: TemporaryFolder

beforeAll(async () => {
  folder = await temporaryFolder()
})
afterAll(async () => {
  await stopEmbedded(join(folder.path, '.forecourt', 'postgres'))
  await folder[Symbol.asyncDispose]()
})

test.each([{ script: true }, { script: false }])(
  'the link that the demo prints in a terminal opens the morning, %o',
  async ({ script }) => {
    const inTerminal = `exec script -qec "$(printf '%q ' "$@")" /dev/null`
    const launcher = ['bash', '-c', inTerminal, 'bash']
    const child = startForecourt(['demo', '--evals', '50'], { cwd: folder.path, launcher })
    const link = () => /http:\S+\/console\/sign-in\?link=[\w-]+/.exec(child.stdout())?.[0]
    await until(() => link() !== undefined)
    await using browser = await launch()
    const page = await (await browser.newContext({ javaScriptEnabled: script })).newPage()
    await page.goto(link()!)
    // Without script, one button.
    if (!script) await page.getByRole('button').press('Enter')
    await page.waitForURL('**/console/')

    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
      'All 6 rooftops are fresh and complete.',
    )
    child.kill('SIGTERM')
    await child.ended
  },
)
