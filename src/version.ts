import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'

/** The version in package.json, found upwards from here: in a checkout and in a published package. */
export function programVersion(): string {
  let folder = import.meta.dirname
  while (!existsSync(path.join(folder, 'package.json'))) folder = path.dirname(folder)
  return (
    JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as { version: string }
  ).version
}
