import { existsSync } from 'node:fs'
import { isInstalled } from '../support/install-packages.ts'

/** The packages of Debian that the tests of a tool need. */
export const toolPackages = {
  ODBC: ['unixodbc', 'odbc-postgresql', 'python3-pyodbc'],
  JDBC: ['libpostgresql-jdbc-java', 'default-jdk-headless'],
  LibreOffice: [
    ...['libreoffice-calc-nogui', 'libreoffice-base-nogui', 'libreoffice-sdbc-postgresql'],
    'python3-uno',
  ],
  openpyxl: ['python3-openpyxl'],
  // promtool and the server itself.
  Prometheus: ['prometheus'],
} as const
export type Tool = keyof typeof toolPackages

/** Packages that a tool lacks. Any JDK does. */
export function missingPackages(tool: Tool, isHere: (name: string) => boolean): string[] {
  return toolPackages[tool].filter((name) => !isHere(name))
}

export function isPackageHere(name: string): boolean {
  return isInstalled(name) || (name === 'default-jdk-headless' && existsSync('/usr/bin/javac'))
}

/** Why the tests of a tool are skipped, and how to install it; null: nothing is missing. */
export function skipReason(tool: Tool, isHere = isPackageHere): string | null {
  const missing = missingPackages(tool, isHere)
  if (missing.length === 0) return null
  const list = missing.join(' ')
  return `${tool} lacks ${list}; on Debian, as root: apt-get install --no-install-recommends ${list}`
}
