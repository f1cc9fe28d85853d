/** The part of `document` that is used. */
interface CopyPage {
  addEventListener(type: 'click', listener: (event: { readonly target: unknown }) => void): void
}

interface Clipboard {
  writeText(text: string): Promise<void>
}

interface CopyTarget {
  closest(selector: string): CopyTarget | null
  querySelector(selector: string): CopyTarget | null
  getAttribute(name: string): string | null
  textContent: string | null
}

/** How long the button shows the result. */
const RESULT_MS = 2000

/**
 * Makes all `data-copy` buttons of a page work, including those that are added later. Call it once.
 * @param clipboard `navigator.clipboard`, which is undefined on plain http except on loopback
 */
export function enableCopying(page: CopyPage, clipboard: Clipboard | undefined): void {
  page.addEventListener('click', ({ target }) => {
    const button = (target as Partial<CopyTarget> | null)?.closest?.('[data-copy]')
    if (button) void copy(button, clipboard)
  })
}

/** The attribute's value; if it is empty, the text of the code block that the button belongs to. */
function textToCopy(button: CopyTarget): string {
  const value = button.getAttribute('data-copy') ?? ''
  if (value !== '') return value
  const code = button.closest('.code')?.querySelector('code')?.textContent ?? ''
  return code.replace(/\n$/, '')
}

async function copy(button: CopyTarget, clipboard: Clipboard | undefined): Promise<void> {
  const label = button.querySelector('[data-copy-word]')
  const showLabel = (text: string) => {
    if (label !== null) label.textContent = text
  }
  try {
    if (clipboard === undefined) throw new Error('there is no clipboard')
    await clipboard.writeText(textToCopy(button))
    showLabel('Copied')
  } catch {
    showLabel('Not copied')
  }
  setTimeout(() => showLabel('Copy'), RESULT_MS)
}
