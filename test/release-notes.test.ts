import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { type TemporaryFolder, temporaryFolder } from './support/temporary-folder.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const files = [
  ...['package.json', 'package-lock.json', '.gitignore', '.npmrc', 'README.md'],
  ...['src/api/client/README.md', 'test/support/release-notes.ts'],
]

/** A repository with this package, and with these notes below "Unreleased". */
async function openRepository(notes: string) {
  const folder: TemporaryFolder = await temporaryFolder()
  const run = (program: string, ...args: string[]) =>
    spawnSync(program, args, {
      ...{ cwd: folder.path, encoding: 'utf8' },
      env: {
        ...{ PATH: process.env['PATH'], HOME: folder.path, GIT_CONFIG_NOSYSTEM: '1' },
        ...{ GIT_AUTHOR_NAME: 'T', GIT_AUTHOR_EMAIL: 't@example.com' },
        ...{ GIT_COMMITTER_NAME: 'T', GIT_COMMITTER_EMAIL: 't@example.com' },
      },
    })
  for (const file of files) cpSync(join(root, file), join(folder.path, file))
  symlinkSync(join(root, 'node_modules'), join(folder.path, 'node_modules'))
  const text = `# Changelog\n\n## Unreleased\n\n${notes}## 0.0.1 - 2026-01-01\n\n- Old.\n`
  writeFileSync(join(folder.path, 'CHANGELOG.md'), text)
  for (const args of [
    ['init', '-q'],
    ['add', '-A', ...files, 'CHANGELOG.md'],
    ['commit', '-qm', 'x'],
  ])
    expect(run('git', ...args)).toMatchObject({ status: 0 })
  return {
    run,
    read: (file: string) => readFileSync(join(folder.path, file), 'utf8'),
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  }
}

test('npm version moves what is unreleased to the new version, and commits all that names it', async () => {
  await using repository = await openRepository('### Added\n\n- New: $& costs $1.\n\n')

  const { status, stderr } = repository.run('npm', 'version', '7.8.9')

  expect({ status, stderr }).toEqual({ status: 0, stderr: '' })
  expect(repository.read('CHANGELOG.md').replace(/\d{4}-\d\d-\d\d/, 'DAY')).toBe(
    '# Changelog\n\n## Unreleased\n\n## 7.8.9 - DAY\n\n### Added\n\n- New: $& costs $1.\n\n## 0.0.1 - 2026-01-01\n\n- Old.\n',
  )
  for (const page of ['README.md', 'src/api/client/README.md'])
    expect(repository.read(page)).toContain('-7.8.9.tgz')
  const commit = repository.run('git', 'show', '--name-only', '--format=%s', 'v7.8.9').stdout
  expect(commit.trim().split('\n').slice(-6)).toEqual([
    ...['', 'CHANGELOG.md', 'README.md', 'package-lock.json', 'package.json'],
    'src/api/client/README.md',
  ])
  expect(repository.run('git', 'status', '--porcelain', '--untracked-files=no').stdout).toBe('')
})

test('npm version changes nothing when there are no notes', async () => {
  await using repository = await openRepository('')

  const { status, stderr } = repository.run('npm', 'version', 'minor')

  expect(status).not.toBe(0)
  expect(stderr).toContain('CHANGELOG.md has nothing below "## Unreleased": write there ')
  expect(repository.run('git', 'status', '--porcelain', '--untracked-files=no').stdout).toBe('')
  expect(repository.run('git', 'tag').stdout).toBe('')
})
