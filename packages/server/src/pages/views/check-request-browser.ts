/**
 * The script of /check/request, which works without it: checks the request while somebody types, and moves the clock on. The declarations
 * replace the DOM types, which the service is compiled without.
 */
import { type Document, type Form, liveForm } from './live-form.ts'

const { document } = globalThis as unknown as { document: Document }

const update = liveForm({
  path: '/check/request',
  form: document.querySelector('form[data-request-form]') as Form,
  onShown: (next) => {
    // A field that has a mistake must be in sight.
    const options = document.getElementById('options')
    if (options !== null && next.querySelector('#options [aria-invalid=true]')) options.open = true
    startClock()
  },
})

/** The server's clock when the page came. */
let began = performance.now()

function startClock(): void {
  began = performance.now()
}

setInterval(() => {
  const clock = document.querySelector('[data-clock]')
  if (clock === null) return
  const now = Number(clock.dataset.clock) + performance.now() - began
  const text = clock.textContent ?? ''
  clock.textContent = text.slice(0, -8) + new Date(now).toISOString().slice(11, 19)
  if (clock.dataset.end === undefined || now <= Number(clock.dataset.end)) return
  delete clock.dataset.end
  update()
}, 1000)
