import { Toast } from '@base-ui/react/toast'
import { useSyncExternalStore } from 'react'

const manager = Toast.createToastManager()

let isAtTop = false
const listeners = new Set<() => void>()

/**
 * Shows a short confirmation: `toast('The name is saved.')`. Show errors beside the control that caused them instead.
 */
export function toast(message: string): void {
  isAtTop = isFocusLow()
  for (const each of listeners) each()
  manager.add({ title: message, timeout: 6000 })
}

/** Whether the control that was used is in the lower half of the window, where a toast would cover it. */
function isFocusLow(): boolean {
  const used = document.activeElement
  if (used === null || used === document.body) return false
  const { top, bottom } = used.getBoundingClientRect()
  return (top + bottom) / 2 > innerHeight / 2
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Renders toasts. Used once, around the whole app. */
export function ToastHost() {
  const atTop = useSyncExternalStore(subscribe, () => isAtTop)
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      <Toast.Portal>
        <Toast.Viewport
          className={`fixed inset-x-4 z-60 flex flex-col items-center gap-3 sm:inset-x-auto sm:right-6 sm:w-90 sm:max-w-[calc(100vw-3rem)] ${atTop ? 'top-4 sm:top-6' : 'bottom-4 sm:bottom-6'}`}
        >
          <Toasts />
        </Toast.Viewport>
      </Toast.Portal>
    </Toast.Provider>
  )
}

function Toasts() {
  const { toasts } = Toast.useToastManager()
  return toasts.map((each) => (
    <Toast.Root
      key={each.id}
      toast={each}
      swipeDirection={[]}
      className="w-full rounded-xl border border-line-strong data-limited:hidden bg-surface shadow-lg transition duration-200 data-ending-style:translate-y-2 data-starting-style:translate-y-2 data-ending-style:opacity-0 data-starting-style:opacity-0"
    >
      <Toast.Content className="flex items-center justify-between gap-3 py-2 pr-2 pl-4">
        {/* Screen readers treat a toast as a dialog, and this is its name. */}
        <Toast.Title render={<p />} />
        <Toast.Close
          aria-label="Dismiss"
          className="grid size-9 shrink-0 cursor-pointer place-items-center rounded-lg text-soft hover:bg-sunken hover:text-ink"
        >
          <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path d="M3.5 3.5l9 9m0-9l-9 9" stroke="currentColor" strokeWidth="1.6" />
          </svg>
        </Toast.Close>
      </Toast.Content>
    </Toast.Root>
  ))
}
