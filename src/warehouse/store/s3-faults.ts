/** Where a request went. `home`: the region of the bucket, if the store names it. */
interface BucketLocation {
  readonly bucket: string
  readonly region: string
  readonly home: string | undefined
}

/** What to do about an error code of S3. */
export function adviceFor(
  code: string,
  status: number,
  { bucket, region, home }: BucketLocation,
): string {
  if (code === 'NoSuchBucket') return `create the bucket ${bucket}, or correct lake.to`
  if (code === 'InvalidBucketName') return 'correct the bucket in lake.to'
  if (/^(InvalidAccessKeyId|SignatureDoesNotMatch|MissingSecurityHeader)$/.test(code))
    return 'correct lake.s3.accessKeyId and lake.s3.secretAccessKey'
  if (/^(ExpiredToken|InvalidToken|TokenRefreshRequired)$/.test(code))
    return 'renew lake.s3.sessionToken and its key'
  if (isRegionFault(code, status))
    return `correct lake.s3.region (${region}) or lake.s3.endpoint: the bucket is in ${home ?? 'another region'}`
  // The answer to the end of an upload was lost, and the store forgets an upload that has ended.
  if (code === 'NoSuchUpload') return 'check the line to the store'
  if (code === 'RequestTimeTooSkewed') return 'set the clock of this machine'
  if (code === 'AccessDenied' || status === 401 || status === 403)
    return `allow the key to list, read, write and delete in the bucket ${bucket}`
  return 'correct lake.to and lake.s3'
}

function isRegionFault(code: string, status: number): boolean {
  return (
    status === 301 ||
    status === 307 ||
    /^(AuthorizationHeaderMalformed|PermanentRedirect|TemporaryRedirect|IllegalLocationConstraintException|InvalidRegion)$/.test(
      code,
    )
  )
}
