/**
 * The script of /console, which works without it: sends the form while somebody types, replaces what depends on it, numbers the lines of
 * the policy, and completes the names of its fields. The declarations replace the DOM types, which the service is compiled without.
 */
interface Element {
  readonly id: string
  readonly dataset: Record<string, string | undefined>
  readonly childNodes: Iterable<Element>
  readonly name?: string
  textContent: string | null
  hidden: boolean
  open: boolean
  className: string
  ariaInvalid: string | null
  querySelector(selector: string): Element | null
  querySelectorAll(selector: string): Iterable<Element>
  closest(selector: string): Element | null
  cloneNode(deep: true): Element
  replaceChildren(...nodes: Iterable<Element>[] | Element[]): void
  setAttribute(name: string, value: string): void
  scrollIntoView(options: { readonly block: 'nearest' }): void
  addEventListener(type: string, listener: (event: Event) => void): void
}
interface TextBox extends Element {
  value: string
  readonly selectionStart: number
  focus(): void
  setSelectionRange(start: number, end: number): void
  setRangeText(text: string, start: number, end: number, select: 'end'): void
  dispatchEvent(event: unknown): void
}
interface Form extends Element {
  readonly elements: Iterable<Element>
}
interface Event {
  readonly target: Element
  readonly submitter: Element | null
  readonly key: string
  preventDefault(): void
}
interface Document {
  getElementById(id: string): Element | null
  querySelector(selector: string): Element | null
  querySelectorAll(selector: string): Iterable<Element>
  createElement(name: string): Element
}
const { document, history, DOMParser, FormData, InputEvent } = globalThis as unknown as {
  document: Document
  history: { replaceState(state: null, unused: '', url: string): void }
  DOMParser: new () => { parseFromString(text: string, type: 'text/html'): Document }
  FormData: new (form: Form, submitter?: Element | null) => Iterable<[string, string]>
  InputEvent: new (type: 'input', options: { readonly bubbles: true }) => unknown
}

const form = document.querySelector('form[data-console]') as Form
const policy = document.getElementById('policy') as TextBox
const completions = document.getElementById('completions') as Element

/** After the last key press. */
const DELAY_MS = 300
let timer: ReturnType<typeof setTimeout> | undefined
let sending = new AbortController()

form.addEventListener('input', ({ target }) => {
  if (target === policy) {
    numberLines()
    complete()
  }
  // The tabs of the code need no answer.
  if (target.name === 'target') return
  clearTimeout(timer)
  timer = setTimeout(() => void update(null), DELAY_MS)
})

form.addEventListener('submit', (event) => {
  event.preventDefault()
  void update(event.submitter)
})

/** @param submitter the button that was pressed, which may change the policy */
async function update(submitter: Element | null): Promise<void> {
  clearTimeout(timer)
  sending.abort()
  sending = new AbortController()
  const { signal } = sending
  const failure = form.querySelector('[data-failure]')
  try {
    const body = new URLSearchParams([...new FormData(form, submitter)])
    const response = await fetch('/console', { method: 'POST', body, signal })
    if (!response.ok) throw new Error(`status ${response.status}`)
    show(new DOMParser().parseFromString(await response.text(), 'text/html'), submitter !== null)
    if (failure) failure.textContent = ''
  } catch {
    if (failure && !signal.aborted) {
      failure.textContent = 'Not updated. Check your connection, then press Update.'
    }
  }
}

function show(next: Document, withPolicy: boolean): void {
  const opened = [...form.querySelectorAll('details[open]')].map(({ id }) => id)
  for (const part of next.querySelectorAll('[data-part]')) {
    const current = document.getElementById(part.id)
    if (current === null) continue
    // While the policy is not valid, what it said before stays in view.
    if (part.dataset.empty === undefined) {
      current.replaceChildren(...part.childNodes)
      delete current.dataset.old
      delete current.dataset.empty
    } else if (current.dataset.empty === undefined) current.dataset.old = ''
  }
  for (const field of form.elements) {
    const same = next.getElementById(field.id)
    if (same?.ariaInvalid) field.ariaInvalid = same.ariaInvalid
  }
  for (const id of opened) {
    const details = document.getElementById(id)
    if (details !== null) details.open = true
  }
  if (withPolicy) policy.value = (next.getElementById('policy') as TextBox).value
  const link = form.querySelector('#link a') as (Element & { readonly href: string }) | null
  history.replaceState(null, '', link?.href ?? '/console')
}

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
