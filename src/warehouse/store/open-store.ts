import path from 'node:path'
import type { S3Settings } from '../../app/config/lake.ts'
import { UsageError } from '../../errors.ts'
import type { FileStore } from './file-store.ts'
import { FolderStore } from './folder-store.ts'
import { S3Client } from './s3-client.ts'
import { S3FileStore } from './s3-store.ts'

/** What `openStore` names a store. */
export function storeName(to: string, base: string): string {
  return /^[a-z][a-z\d+.-]*:\/\//i.test(to) ? to.replace(/\/+$/, '') : path.resolve(base, to)
}

/** Opens a folder (relative to `base`) or s3://bucket/prefix. UsageError when the address or its settings cannot be used. */
export function openStore(
  to: string,
  base: string,
  settings: S3Settings,
  signal: AbortSignal,
): FileStore {
  const scheme = /^([a-z][a-z\d+.-]*):\/\//i.exec(to)?.[1]?.toLowerCase()
  if (scheme === undefined) return new FolderStore(path.resolve(base, to))
  if (scheme !== 's3')
    throw new UsageError(`${to} is not a folder and no s3:// address: write s3://bucket/prefix.`)
  const [, bucket = '', prefix = ''] = /^s3:\/\/([^/]*)\/?(.*)$/i.exec(to) ?? []
  if (!/^[a-z\d][a-z\d.-]{1,61}[a-z\d]$/.test(bucket))
    throw new UsageError(
      `${to} names no bucket: write s3://bucket/prefix, the bucket in small letters, digits, dots and dashes.`,
    )
  const { accessKeyId, secretAccessKey } = settings
  if (accessKeyId === null || secretAccessKey === null)
    throw new UsageError(
      `${to} needs a key: set lake.s3.accessKeyId and lake.s3.secretAccessKey in the config.`,
    )
  const client = new S3Client({ ...settings, accessKeyId, secretAccessKey, bucket }, signal)
  return new S3FileStore(client, prefix.replace(/\/+$/, ''))
}
