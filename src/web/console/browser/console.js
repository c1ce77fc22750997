// What makes the console pleasant. Everything works without it.

/** An open page whose data move asks for itself again. The browser sends the ETag by itself: unchanged data cost a 304. */
function refreshLive() {
  const main = document.querySelector('main[data-live]')
  if (!(main instanceof HTMLElement)) return
  const timer = setInterval(async () => {
    if (document.visibilityState !== 'visible') return
    try {
      const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
      if (answer.redirected) location.reload()
      if (!answer.ok) throw new Error(String(answer.status))
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const content = next.querySelector('main')
      if (content === null) return
      markStale(false)
      for (const name of ['footer', 'main']) follow(name, next)
      if (!content.hasAttribute('data-live')) clearInterval(timer)
    } catch {
      markStale(true)
    }
  }, Number(main.dataset['live']) * 1000)
}

/**
 * Makes a part of the page like that of a newer one. What has the focus stays or keeps it; where it is gone, the content gets it.
 * What a person is typing or choosing is left alone.
 * @param {string} name @param {Document} next
 */
function follow(name, next) {
  const [part, newer] = [document.querySelector(name), next.querySelector(name)]
  if (part === null || newer === null) return
  const active = document.activeElement
  if (!(active instanceof HTMLElement) || active === part || !part.contains(active))
    return updateChildren(part, newer)
  const unit = active.closest('form') ?? active
  const copy = unit.cloneNode(true)
  const at = focusable(unit).indexOf(active)
  const find = (/** @type {Element} */ from) =>
    [...from.querySelectorAll(unit.tagName)].find((one) => one.isEqualNode(copy))
  if (find(newer) === undefined && active.matches('input, select, textarea')) return
  updateChildren(part, newer)
  const same = part.contains(unit) && unit.isEqualNode(copy) ? unit : find(part)
  const element = same === undefined ? document.querySelector('main') : focusable(same)[at]
  if (element !== document.activeElement) element?.focus({ preventScroll: true })
}

/** What can have the focus in a form; or the element itself. @param {Element} unit @returns {HTMLElement[]} */
function focusable(unit) {
  const found = unit instanceof HTMLFormElement ? [...unit.elements] : [unit]
  return found.filter((one) => one instanceof HTMLElement)
}

/** Changes only what differs, so that focus, scroll, selection and what a screen reader reads stay. @param {ChildNode} old @param {ChildNode} next */
function update(old, next) {
  if (old.isEqualNode(next)) return
  if (!(old instanceof Element && next instanceof Element) || old.tagName !== next.tagName)
    return old.replaceWith(next)
  for (const name of new Set([...old.getAttributeNames(), ...next.getAttributeNames()])) {
    const value = next.getAttribute(name)
    // A person has opened it, or has just sent it.
    if (name === 'open' || name === 'aria-busy') continue
    if (value === null) old.removeAttribute(name)
    else old.setAttribute(name, value)
  }
  updateChildren(old, next)
}

/** @param {Element} old @param {Element} next */
function updateChildren(old, next) {
  const before = [...old.childNodes]
  const after = [...next.childNodes]
  for (const [at, node] of after.entries()) {
    const one = before[at]
    if (one === undefined) old.append(node)
    else update(one, node)
  }
  for (const one of before.slice(after.length)) one.remove()
}

/** Says in words that the page no longer follows. @param {boolean} isStale */
function markStale(isStale) {
  const old = document.querySelector('[data-stale]')
  if (!isStale) return old?.remove()
  if (old !== null) return
  const note = document.createElement('p')
  note.dataset['stale'] = ''
  note.setAttribute('role', 'alert')
  note.textContent = 'This page is not up to date: the server has not answered since then.'
  document.querySelector('footer')?.prepend(note)
}

/** A form is sent once: a second click does nothing. */
document.addEventListener('submit', (event) => {
  if (!(event.target instanceof HTMLFormElement) || event.target.method !== 'post') return
  if (event.target.ariaBusy === 'true') event.preventDefault()
  event.target.ariaBusy = 'true'
})
addEventListener('pageshow', () => {
  for (const form of document.forms) form.ariaBusy = null
})

/** A menu closes when a person goes on elsewhere, or by Escape. */
const menu = document.querySelector('.bar details')
if (menu instanceof HTMLDetailsElement) {
  const close = (/** @type {Event} */ { target }) => {
    if (!(target instanceof Node && menu.contains(target))) menu.open = false
  }
  for (const name of ['focusin', 'click']) document.addEventListener(name, close)
  menu.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape') return
    menu.open = false
    menu.querySelector('summary')?.focus()
  })
}

// Where the list of pages is scrolled, the page that is open is in sight.
document
  .querySelector('.bar [aria-current]')
  ?.scrollIntoView({ block: 'nearest', inline: 'center' })

/** A list is sent with a bar that shows how much has arrived. @param {HTMLFormElement} form @param {Element} bar */
function sendWithProgress(form, bar) {
  const request = new XMLHttpRequest()
  request.upload.onprogress = ({ loaded, total }) =>
    Object.assign(bar, { max: total, value: loaded })
  request.onload = () => {
    if (request.status < 400) return location.assign(request.responseURL)
    const answer = new DOMParser().parseFromString(request.responseText, 'text/html')
    document.querySelector('main')?.replaceWith(answer.querySelector('main') ?? '')
  }
  // The form stays, with the file that was chosen, and may be sent again.
  request.onerror = () => {
    const note = form.querySelector('[role=alert]') ?? document.createElement('p')
    note.setAttribute('role', 'alert')
    note.textContent = 'The connection was cut, nothing was changed: send it again.'
    bar.toggleAttribute('hidden', true)
    form.ariaBusy = null
    form.append(note)
  }
  // A field of the form is called action, too.
  request.open('POST', form.getAttribute('action') ?? '')
  request.send(new FormData(form))
}
addEventListener('submit', (event) => {
  const bar = event.target instanceof HTMLFormElement && event.target.querySelector('progress')
  if (!bar || event.defaultPrevented) return
  event.preventDefault()
  bar.hidden = false
  sendWithProgress(/** @type {HTMLFormElement} */ (event.target), bar)
})

const immediate = document.querySelector('form[data-submit-now]')
if (immediate instanceof HTMLFormElement) immediate.requestSubmit()
refreshLive()
