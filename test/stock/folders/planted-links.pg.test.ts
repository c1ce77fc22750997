import { chown, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { listInboxes } from '#src/stock/folders/inbox.ts'
import { runPass } from '#src/stock/folders/pass.ts'
import { listOf, vehicles } from '../import-fixture.ts'
import { age, type InboxFixture, openInboxFixture } from './inbox-fixture.ts'

/** Another file of the machine, and a folder of others. */
async function outside({ folder }: InboxFixture) {
  const [file, other] = [join(dirname(folder), 'precious'), join(dirname(folder), 'other')]
  await writeFile(file, 'precious')
  await mkdir(other)
  return { file, other }
}

test.each(['working', 'done', 'failed'] as const)(
  'a link named %s is refused, and nothing is taken',
  async (name) => {
    await using fixture = await openInboxFixture()
    const { other } = await outside(fixture)
    await symlink(other, join(fixture.folder, name))
    await fixture.drop('stock.csv', listOf(vehicles(3)))

    const { problems, files } = await fixture.pass()

    expect(problems[0]!.problem).toContain(`${join(fixture.folder, name)} is a symbolic link`)
    expect([files, await readdir(other)]).toEqual([[], []])
  },
)

test.runIf(process.geteuid?.() === 0).each(['working', 'done', 'failed'] as const)(
  'a folder %s of another user is refused with what to do',
  async (name) => {
    await using fixture = await openInboxFixture()
    await mkdir(join(fixture.folder, name))
    await chown(join(fixture.folder, name), 12_345, 12_345)

    const { problems } = await fixture.pass()

    expect(problems[0]!.problem).toMatch(/belongs to another user \(12345\).*chown 0/)
  },
)

test('links with the names of reports and rejected rows are never written through', async () => {
  await using fixture = await openInboxFixture()
  const { pool, services, config, folder } = fixture
  const { file } = await outside(fixture)
  await fixture.drop('stock.csv', listOf(vehicles(3)).replace(/S0002,[^,]*,/, 'S0002,1x2,'))
  await runPass(services, listInboxes(config))
  await age(pool)
  const crashPoint = (point: string) => {
    if (point === 'inbox-decided') planted = plant()
  }
  let planted = Promise.resolve()
  const plant = async () => {
    for (const name of await readdir(join(folder, 'working')))
      for (const state of ['done', 'failed'])
        for (const end of ['.report.txt', '.report.txt.part', '.rejected.csv.part', '.part'])
          await symlink(file, join(folder, state, `${name}${end}`)).catch(() => undefined)
  }

  const { files } = await runPass({ ...services, crashPoint }, listInboxes(config))
  await planted

  expect(files).toHaveLength(1)
  expect(await readFile(file, 'utf8')).toBe('precious')
})

test('a folder that is replaced by a link during the pass is not followed', async () => {
  await using fixture = await openInboxFixture()
  const { pool, services, config, folder } = fixture
  const { other } = await outside(fixture)
  await fixture.drop('stock.csv', listOf(vehicles(3)))
  await runPass(services, listInboxes(config))
  await age(pool)
  let swapped = Promise.resolve()
  const crashPoint = (point: string) => {
    if (point === 'inbox-taken')
      swapped = rename(join(folder, 'done'), join(folder, 'moved.tmp')).then(() =>
        symlink(other, join(folder, 'done')),
      )
  }

  const { files } = await runPass({ ...services, crashPoint }, listInboxes(config))
  await swapped

  expect(await readdir(other)).toEqual([])
  expect(files.map(({ path }) => basename(path!))).toHaveLength(1)
})

test('a link as the name of the folder’s id is not read', async () => {
  await using fixture = await openInboxFixture()
  const { file } = await outside(fixture)
  await symlink(file, join(fixture.folder, '.forecourt-inbox'))

  const { problems } = await fixture.pass()

  expect(problems[0]!.problem).toContain('.forecourt-inbox is damaged')
})
