/** The script of the page: copy buttons, the filter, and links that open their target. The page works without it. */
export const pageScript = `
'use strict'
if (navigator.clipboard) {
  for (const code of document.querySelectorAll('[data-copy]')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.setAttribute('aria-label', 'Copy ' + code.textContent.slice(0, 60))
    button.addEventListener('click', async () => {
      await navigator.clipboard.writeText(code.textContent)
      button.textContent = 'Copied'
      setTimeout(() => { button.textContent = 'Copy' }, 1500)
    })
    const figure = code.closest('figure')
    if (figure) figure.append(button)
    else code.after(button)
  }
}
const input = document.getElementById('filter')
input.parentElement.hidden = false
input.addEventListener('input', () => {
  const words = input.value.toLowerCase().split(/\\s+/).filter(Boolean)
  for (const group of document.querySelectorAll('.group')) {
    let shown = 0
    for (const one of group.querySelectorAll('.operation')) {
      const text = one.querySelector('summary').textContent.toLowerCase()
      one.hidden = !words.every((word) => text.includes(word))
      if (!one.hidden) shown += 1
    }
    group.hidden = shown === 0
  }
})
const open = () => {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1))
  if (target && target.tagName === 'DETAILS') { target.open = true; target.scrollIntoView() }
}
addEventListener('hashchange', open)
open()
`
