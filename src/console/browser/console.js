// What makes the console pleasant. Everything works without it.

/** An open page whose data move asks for itself again. The browser sends the ETag by itself: unchanged data cost a 304. */
function refreshLive() {
  const main = document.querySelector('main[data-live]')
  if (!(main instanceof HTMLElement)) return
  const timer = setInterval(async () => {
    if (document.visibilityState !== 'visible' || isBusy(main)) return
    try {
      const answer = await fetch(location.href, { headers: { accept: 'text/html' } })
      if (answer.redirected) location.reload()
      if (!answer.ok) throw new Error(String(answer.status))
      const next = new DOMParser().parseFromString(await answer.text(), 'text/html')
      const content = next.querySelector('main')
      if (content === null || isBusy(main)) return
      document.querySelector('footer')?.replaceWith(next.querySelector('footer') ?? '')
      markStale(false)
      main.replaceChildren(...content.childNodes)
      if (!content.hasAttribute('data-live')) clearInterval(timer)
    } catch {
      markStale(true)
    }
  }, Number(main.dataset['live']) * 1000)
}

/** Whether the person is at something inside that must not be replaced. @param {HTMLElement} main */
function isBusy(main) {
  const active = document.activeElement
  return active !== null && active !== main && main.contains(active)
}

/** Says in words that the page no longer follows. @param {boolean} isStale */
function markStale(isStale) {
  const old = document.querySelector('[data-stale]')
  if (!isStale) return old?.remove()
  if (old !== null) return
  const note = document.createElement('p')
  note.dataset['stale'] = ''
  note.setAttribute('role', 'status')
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

const immediate = document.querySelector('form[data-submit-now]')
if (immediate instanceof HTMLFormElement) immediate.requestSubmit()
refreshLive()
