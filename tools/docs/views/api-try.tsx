import { SubmitButton } from '../../../packages/server/src/pages/views/fields.tsx'
import type { ApiOperation } from '../api-model.ts'

/** Tags of operations that need no session, no token and no signature. */
const OPEN_TAGS: ReadonlySet<string> = new Set(['check', 'show', 'resolve', 'learn'])

/** A form that sends a GET request to this service. It needs JavaScript, and is hidden without it. */
export function TryIt({ operation }: { readonly operation: ApiOperation }) {
  const { id, method, path, tag, parameters } = operation
  if (method !== 'GET' || !OPEN_TAGS.has(tag)) return null
  return (
    <details className="api-try">
      <summary>Try it</summary>
      <form data-try={path}>
        {parameters.map(({ name, in: place, optional, example }) => (
          <p key={name}>
            <label htmlFor={`${id}-${name}`} className="block font-medium">
              {name}
            </label>
            <input
              id={`${id}-${name}`}
              name={name}
              data-in={place}
              required={!optional}
              placeholder={example}
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              className="mt-1 h-11 w-full rounded-lg border border-line-strong bg-surface px-3 font-mono text-sm placeholder:text-soft hover:border-accent"
            />
          </p>
        ))}
        <SubmitButton>Send request</SubmitButton>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls the focused element (WCAG 2.1.1) */}
        <pre data-try-response tabIndex={0} aria-live="polite" hidden />
      </form>
    </details>
  )
}
