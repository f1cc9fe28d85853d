interface TryPage {
  addEventListener(type: 'submit', listener: (event: SubmitEvent) => void): void
}

interface SubmitEvent {
  readonly target: unknown
  preventDefault(): void
}

interface TryForm {
  readonly dataset: Record<string, string | undefined>
  querySelector(selector: string): { textContent: string | null; hidden: boolean } | null
  querySelectorAll(selector: string): Iterable<{
    readonly name: string
    readonly value: string
    readonly dataset: Record<string, string | undefined>
  }>
}

interface TryResponse {
  readonly status: number
  readonly statusText: string
  readonly headers: { get(name: string): string | null }
  text(): Promise<string>
}

type Fetch = (
  path: string,
  options: { headers: Record<string, string>; credentials: 'omit' },
) => Promise<TryResponse>

/** Longest response that is shown, in characters. */
const MAX_SHOWN = 20_000

/** Makes the "Try it" forms of the API reference send their GET request to this service, without cookies. */
export function enableTrying(page: TryPage, fetch: Fetch): void {
  page.addEventListener('submit', (event) => {
    const form = event.target as TryForm
    const path = form.dataset.try
    if (path === undefined) return
    event.preventDefault()
    void send(form, path, fetch)
  })
}

async function send(form: TryForm, path: string, fetch: Fetch): Promise<void> {
  const output = form.querySelector('[data-try-response]')
  if (output === null) return
  output.hidden = false
  output.textContent = 'Sending…'
  output.textContent = await fetch(...requestOf(form, path)).then(show, () => 'No response.')
}

function requestOf(form: TryForm, template: string): Parameters<Fetch> {
  let path = template
  const query: string[] = []
  const headers: Record<string, string> = {}
  for (const { name, value, dataset } of form.querySelectorAll('input')) {
    const encoded = encodeURIComponent(value)
    if (dataset.in === 'path') path = path.replace(`{${name}}`, encoded)
    else if (value === '') continue
    else if (dataset.in === 'header') headers[name] = value
    else query.push(`${encodeURIComponent(name)}=${encoded}`)
  }
  const search = query.length === 0 ? '' : `?${query.join('&')}`
  return [path + search, { headers, credentials: 'omit' }]
}

async function show(response: TryResponse): Promise<string> {
  const type = response.headers.get('content-type') ?? ''
  const body = /json|^text\//.test(type) ? await response.text() : `(${type})`
  return `${response.status} ${response.statusText}\n\n${indented(body).slice(0, MAX_SHOWN)}`
}

function indented(body: string): string {
  try {
    return JSON.stringify(JSON.parse(body), null, 2)
  } catch {
    return body
  }
}
