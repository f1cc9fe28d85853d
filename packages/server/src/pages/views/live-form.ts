/**
 * A form of a page that works without script: it is sent while somebody types, and what depends on it is replaced. The declarations
 * replace the DOM types, which the service is compiled without.
 */
export interface Element {
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
export interface Form extends Element {
  readonly elements: Iterable<Element>
}
interface Event {
  readonly target: Element
  readonly submitter: Element | null
  readonly key: string
  preventDefault(): void
}
export interface Document {
  getElementById(id: string): Element | null
  querySelector(selector: string): Element | null
  querySelectorAll(selector: string): Iterable<Element>
  createElement(name: string): Element
}
const { document, DOMParser, FormData } = globalThis as unknown as {
  document: Document
  DOMParser: new () => { parseFromString(text: string, type: 'text/html'): Document }
  FormData: new (form: Form, submitter?: Element | null) => Iterable<[string, string]>
}

/** After the last key press. */
const DELAY_MS = 300

interface LiveForm {
  /** Where the form is sent, and the page that it is on. */
  readonly path: string
  readonly form: Form
  /** The fields on which nothing depends. */
  readonly without?: readonly string[]
  /** Called after the parts were replaced. @param submitter the button that was pressed, which may change the form */
  readonly onShown: (next: Document, submitter: Element | null) => void
}

/**
 * Sends a form 300 ms after each change and for each of its buttons, and replaces the elements with `data-part`. A part with `data-empty`
 * has nothing to show: what was there before stays, with `data-old`.
 * @returns sends it at once
 */
export function liveForm({ path, form, without = [], onShown }: LiveForm): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined
  let sending = new AbortController()

  const update = async (submitter: Element | null) => {
    clearTimeout(timer)
    sending.abort()
    sending = new AbortController()
    const { signal } = sending
    const failure = form.querySelector('[data-failure]')
    try {
      const body = new URLSearchParams([...new FormData(form, submitter)])
      const response = await fetch(path, { method: 'POST', body, signal })
      if (!response.ok) throw new Error(`status ${response.status}`)
      const next = new DOMParser().parseFromString(await response.text(), 'text/html')
      showParts(form, next)
      onShown(next, submitter)
      if (failure) failure.textContent = ''
    } catch {
      if (failure && !signal.aborted) failure.textContent = failure.dataset.failure ?? ''
    }
  }
  form.addEventListener('input', ({ target }) => {
    if (without.includes(target.name ?? '')) return
    clearTimeout(timer)
    timer = setTimeout(() => void update(null), DELAY_MS)
  })
  form.addEventListener('submit', (event) => {
    event.preventDefault()
    void update(event.submitter)
  })
  return () => void update(null)
}

function showParts(form: Form, next: Document): void {
  const opened = [...form.querySelectorAll('details[open]')].map(({ id }) => id)
  for (const part of next.querySelectorAll('[data-part]')) {
    const current = document.getElementById(part.id)
    if (current === null) continue
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
}
