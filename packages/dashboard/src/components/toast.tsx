import { Toast } from '@base-ui/react/toast'

const manager = Toast.createToastManager()

/**
 * Shows a short confirmation: `toast('The name is saved.')`. Show errors beside the control that caused them instead.
 */
export function toast(message: string): void {
  manager.add({ title: message, timeout: 6000 })
}

/** Renders toasts. Used once, around the whole app. */
export function ToastHost() {
  return (
    <Toast.Provider toastManager={manager} limit={3}>
      <Toast.Portal>
        <Toast.Viewport className="fixed inset-x-4 bottom-4 z-60 flex flex-col items-center gap-3 sm:inset-x-auto sm:right-6 sm:bottom-6 sm:w-90">
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
