/**
 * The script of /console, which works without it: sends the form while somebody types, numbers the lines of the policy, and completes the
 * names of its fields. The declarations replace the DOM types, which the service is compiled without.
 */
import { type Document, type Element, type Form, liveForm } from './live-form.ts'

interface TextBox extends Element {
  value: string
  readonly selectionStart: number
  focus(): void
  setSelectionRange(start: number, end: number): void
  setRangeText(text: string, start: number, end: number, select: 'end'): void
  dispatchEvent(event: unknown): void
}
const { document, history, InputEvent } = globalThis as unknown as {
  document: Document
  history: { replaceState(state: null, unused: '', url: string): void }
  InputEvent: new (type: 'input', options: { readonly bubbles: true }) => unknown
}

const form = document.querySelector('form[data-console]') as Form
const policy = document.getElementById('policy') as TextBox
const completions = document.getElementById('completions') as Element

form.addEventListener('input', ({ target }) => {
  if (target !== policy) return
  numberLines()
  complete()
})

liveForm({
  path: '/console',
  form,
  // The tabs of the code need no answer.
  without: ['target'],
  onShown(next, submitter) {
    if (submitter !== null) policy.value = (next.getElementById('policy') as TextBox).value
    const link = form.querySelector('#link a') as (Element & { readonly href: string }) | null
    history.replaceState(null, '', link?.href ?? '/console')
  },
})

/** Until the answer comes, no line has a mistake. */
function numberLines(): void {
  const lines = policy.value.split('\n').map((text) => {
    const line = document.createElement('div')
    line.textContent = text
    return line
  })
  document.getElementById('policy-lines')?.replaceChildren(...lines)
}

/** Selects the line of a mistake. */
form.addEventListener('click', (event) => {
  const line = Number(event.target.closest('[data-line]')?.dataset.line)
  if (!line) return
  event.preventDefault()
  const before = policy.value.split('\n').slice(0, line)
  const end = before.join('\n').length
  policy.focus()
  policy.setSelectionRange(end - (before.at(-1)?.length ?? 0), end)
})

/** Offers the fields that begin with what stands before the cursor, after a quotation mark that begins a name. */
function complete(): void {
  const [, typed] = /(?:^|[{,])\s*"(\w*)$/.exec(textBefore()) ?? []
  const fields = [...document.querySelectorAll('[data-field]')].filter(
    ({ dataset: { field } }) => typed !== undefined && field?.startsWith(typed) && field !== typed,
  )
  const options = fields.map((field, index) => {
    const option = document.createElement('div')
    option.className = 'cursor-pointer px-4 py-2 text-sm/6 aria-selected:bg-accent-wash'
    option.replaceChildren(...[...field.childNodes].map((each) => each.cloneNode(true)))
    option.setAttribute('role', 'option')
    option.setAttribute('id', `completion-${index}`)
    option.dataset.insert = `"${field.dataset.field}": ${field.dataset.example}`
    return option
  })
  completions.replaceChildren(...options)
  completions.hidden = options.length === 0
  select(0)
}

function textBefore(): string {
  return policy.value.slice(0, policy.selectionStart)
}

let selected = 0

function select(index: number): void {
  const options = [...completions.childNodes]
  selected = Math.min(Math.max(index, 0), options.length - 1)
  for (const [i, option] of options.entries()) {
    option.setAttribute('aria-selected', String(i === selected))
  }
  options[selected]?.scrollIntoView({ block: 'nearest' })
  policy.setAttribute('aria-activedescendant', options[selected]?.id ?? '')
}

function insert(option: Element | undefined): void {
  const end = policy.selectionStart
  const begin = textBefore().lastIndexOf('"')
  policy.setRangeText(option?.dataset.insert ?? '', begin, end, 'end')
  policy.focus()
  policy.dispatchEvent(new InputEvent('input', { bubbles: true }))
}

policy.addEventListener('keydown', (event) => {
  if (completions.hidden) return
  const { key } = event
  if (key === 'ArrowDown') select(selected + 1)
  else if (key === 'ArrowUp') select(selected - 1)
  else if (key === 'Enter') insert([...completions.childNodes][selected])
  else if (key === 'Escape') completions.hidden = true
  else return
  event.preventDefault()
})

policy.addEventListener('blur', () => {
  completions.hidden = true
})

// Before the text loses the focus.
completions.addEventListener('mousedown', (event) => {
  event.preventDefault()
  insert(event.target.closest('[data-insert]') ?? undefined)
})
