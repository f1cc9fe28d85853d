/** What is asked of a page: `document` is one. */
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

/** How long a button says that it has copied. */
const THANKS_MS = 2000

/**
 * Makes every `data-copy` button of a page work, those that come later too. Call it once.
 * @param clipboard `navigator.clipboard`, which is not there on plain http away from loopback
 */
export function enableCopying(page: CopyPage, clipboard: Clipboard | undefined): void {
  page.addEventListener('click', ({ target }) => {
    const button = (target as Partial<CopyTarget> | null)?.closest?.('[data-copy]')
    if (button) void copy(button, clipboard)
  })
}

async function copy(button: CopyTarget, clipboard: Clipboard | undefined): Promise<void> {
  const word = button.querySelector('[data-copy-word]')
  const say = (text: string) => {
    if (word !== null) word.textContent = text
  }
  try {
    if (clipboard === undefined) throw new Error('there is no clipboard')
    await clipboard.writeText(button.getAttribute('data-copy') ?? '')
    say('Copied')
  } catch {
    say('Not copied')
  }
  setTimeout(() => say('Copy'), THANKS_MS)
}
