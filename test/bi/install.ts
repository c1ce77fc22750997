import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

const packages = [
  ...['unixodbc', 'odbc-postgresql', 'python3-pyodbc', 'libpostgresql-jdbc-java', 'python3-uno'],
  ...['libreoffice-calc-nogui', 'libreoffice-base-nogui', 'libreoffice-sdbc-postgresql'],
]

/** Installs missing BI clients. Never skips: the run fails when a client cannot be installed. */
export default function install(): void {
  const missing = packages.filter((name) => !isInstalled(name))
  if (!existsSync('/usr/bin/javac')) missing.push('default-jdk-headless')
  if (missing.length === 0) return
  console.log(`Installing ${missing.join(', ')}`)
  try {
    apt('update', '-qq')
    apt('install', '-y', '-qq', '--no-install-recommends', ...missing)
  } catch (cause) {
    throw new Error(
      `BI clients are missing and could not be installed: on Debian, as root, run apt-get install --no-install-recommends ${missing.join(' ')}`,
      { cause },
    )
  }
}

function isInstalled(name: string): boolean {
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
