/** Whether the browser says that a page of the console sent the request. Without Sec-Fetch-Site (old browsers, proxies that strip
 *  it), Origin must name the console; a request with neither is refused. */
export function isSameOrigin(
  headers: { readonly 'sec-fetch-site'?: unknown; readonly origin?: unknown },
  publicUrl: string,
): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined) return site === 'same-origin'
  return headers.origin === new URL(publicUrl).origin
}
