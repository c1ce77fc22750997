import { execFileSync } from 'node:child_process'

/** Installs packages of Debian that are missing. Never skips: the run fails when one cannot be installed. */
export function installPackages(packages: readonly string[]): void {
  const missing = packages.filter((name) => !isInstalled(name))
  if (missing.length === 0) return
  console.log(`Installing ${missing.join(', ')}`)
  try {
    apt('update', '-qq')
    apt('install', '-y', '-qq', '--no-install-recommends', ...missing)
  } catch (cause) {
    throw new Error(
      `Programs that the tests need are missing and could not be installed: on Debian, as root, run apt-get install --no-install-recommends ${missing.join(' ')}`,
      { cause },
    )
  }
}

export function isInstalled(name: string): boolean {
  try {
    const format = '--showformat=$' + '{db:Status-Status}'
    const status = execFileSync('dpkg-query', ['--show', format, name], {
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    return status.toString() === 'installed'
  } catch {
    return false
  }
}

function apt(...words: string[]): void {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('apt-get', words, { env, stdio: ['ignore', 'ignore', 'inherit'] })
}
