import { expect, test } from 'vitest'
import { Html, html } from '#src/values/html.ts'

const vector = `"><script>alert('1')</script>&amp;\``
const escaped = '&#34;&#62;&#60;script&#62;alert(&#39;1&#39;)&#60;/script&#62;&#38;amp;&#96;'

test('a text is escaped as content, in both kinds of quotes, and in the title of an SVG', () => {
  expect(html`<p>${vector}</p>`.text).toBe(`<p>${escaped}</p>`)
  expect(html`<p title="${vector}">`.text).toBe(`<p title="${escaped}">`)
  expect(html`<p aria-label='${vector}'>`.text).toBe(`<p aria-label='${escaped}'>`)
  expect(html`<svg><title>${vector}</title></svg>`.text).toBe(
    `<svg><title>${escaped}</title></svg>`,
  )
})

test('a list is joined, nothing is left out, and 0 is shown', () => {
  expect(html`${['<', null, [undefined, false, 'b']]}-${0}-${null}`.text).toBe('&#60;b-0-')
})

test('safe HTML is not escaped again', () => {
  expect(html`<p>${html`<b>${'<'}</b>`}${new Html('<i>')}</p>`.text).toBe('<p><b>&#60;</b><i></p>')
})

test('an object that only resembles safe HTML is text', () => {
  const forged = JSON.parse('{"text":"<script>"}')

  expect(() => html`${forged}`).toThrow()
})

test.for([
  ...['javascript:alert(1)', ' JaVaScRiPt:alert(1)', 'java\nscript:alert(1)', '\u0001javascript:a'],
  ...['data:text/html,<script>alert(1)</script>', 'vbscript:a', 'file:///etc/passwd', '\tblob:x'],
])('an address %j becomes #', (address) => {
  expect(html`<a href="${address}">`.text).toBe('<a href="#">')
  expect(html`<form action='${address}'>`.text).toBe("<form action='#'>")
  expect(html`<img src="${[address]}">`.text).toBe('<img src="#">')
})

test.for([
  ...['/console/runs?show=all', '#content', '?a=b:c', 'runs/1', '', '/a:b', './a:b'],
  ...['https://example.com/', 'HTTP://example.com/', 'mailto:kim@example.com', '//example.com/'],
])('an address %j is left as it is', (address) => {
  expect(html`<a href="${address}">`.text).toBe(`<a href="${address}">`)
})

test('a text in another attribute, or behind the beginning of an address, is not an address', () => {
  expect(html`<input value="${'javascript:'}">`.text).toBe('<input value="javascript:">')
  expect(html`<a href="/console/${'a:b'}">`.text).toBe('<a href="/console/a:b">')
})
