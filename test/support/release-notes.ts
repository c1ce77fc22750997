import { readFileSync, writeFileSync } from 'node:fs'

// Run by `npm version`: `check` before anything is changed, `move` once package.json has the new version.

const heading = '## Unreleased\n'
const changelog = readFileSync('CHANGELOG.md', 'utf8')
const after = changelog.split(heading)[1]
const { npm_new_version: version, npm_old_version: oldVersion } = process.env

if (after === undefined) stop('CHANGELOG.md has no heading "## Unreleased": add it.')
if (after.split(/^## /m)[0]!.trim() === '')
  stop('CHANGELOG.md has nothing below "## Unreleased": write there what has changed.')
if (process.argv[2] === 'move') {
  if (version === undefined || oldVersion === undefined) stop('Run it by "npm version".')
  const day = new Date().toISOString().slice(0, 10)
  const moved = changelog.replace(heading, () => `${heading}\n## ${version} - ${day}\n`)
  writeFileSync('CHANGELOG.md', moved)
  // Pages that name the file of the package.
  for (const page of ['README.md', 'src/api/client/README.md']) {
    const text = readFileSync(page, 'utf8')
    writeFileSync(page, text.replaceAll(`-${oldVersion}.tgz`, `-${version}.tgz`))
  }
}

function stop(message: string): never {
  console.error(`${message} Then run "npm version" again.`)
  process.exit(1)
}
