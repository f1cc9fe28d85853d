import type { PolicyFault } from '../console/entered-policy.ts'
import type { PolicyField } from '../console/policy-fields.ts'

interface PolicyEditorProps {
  readonly policy: string
  readonly faults: readonly PolicyFault[]
  /** All that a policy can have. */
  readonly fields: readonly PolicyField[]
}

/** The policy as text, with line numbers behind it and mistakes at their lines. A script completes the names of fields. */
export function PolicyEditor({ policy, faults, fields }: PolicyEditorProps) {
  const lines = policy.split('\n')
  return (
    <div className="min-w-0 space-y-2">
      <div className="flex flex-wrap items-baseline justify-between gap-x-4">
        <label htmlFor="policy" className="font-medium">
          Policy
        </label>
        <p id="policy-hint" className="text-sm text-soft">
          JSON, or the file of countersign-gateway
        </p>
      </div>
      <div className="relative">
        <div className="editor">
          <div id="policy-lines" data-part aria-hidden="true" className="editor-lines">
            {lines.map((text, index) => (
              <div
                // biome-ignore lint/suspicious/noArrayIndexKey: the number is what identifies a line
                key={index}
                data-fault={faults.some(({ line }) => line === index + 1) || undefined}
              >
                {text}
              </div>
            ))}
          </div>
          <textarea
            id="policy"
            name="policy"
            defaultValue={policy}
            autoComplete="off"
            autoCapitalize="none"
            spellCheck={false}
            aria-invalid={faults.length > 0}
            aria-controls="completions"
            aria-describedby="policy-hint policy-faults"
          />
        </div>
        <div
          id="completions"
          role="listbox"
          aria-label="Fields"
          hidden
          className="absolute top-full right-0 left-0 z-10 mt-1 max-h-72 overflow-y-auto rounded-lg border border-line-strong bg-surface shadow-lg"
        />
      </div>
      <ul id="policy-faults" data-part aria-live="polite" className="space-y-1">
        {faults.map(({ line, message }) => (
          <li key={message} className="flex gap-3 text-sm/6 text-bad">
            <a
              href="#policy"
              data-line={line}
              className="shrink-0 font-semibold underline underline-offset-4"
            >
              Line {line}
            </a>
            <span className="min-w-0 wrap-anywhere">{message}</span>
          </li>
        ))}
      </ul>
      <details id="fields">
        <summary className="cursor-pointer py-1 text-sm font-medium text-accent hover:text-accent-strong">
          All fields of a policy
        </summary>
        <dl className="mt-2 max-h-96 divide-y divide-line overflow-y-auto rounded-lg border border-line bg-surface text-sm/6">
          {fields.map(({ name, example, description, isRoute }) => (
            <div
              key={name}
              data-field={name}
              data-example={example}
              className="px-4 py-2 wrap-anywhere"
            >
              <dt>
                <code className="font-mono font-medium">{name}</code>
                {isRoute && <span className="text-soft"> in a route</span>}
              </dt>
              <dd className="text-soft">
                {description.split('`').map((text, i) =>
                  i % 2 === 1 ? (
                    // biome-ignore lint/suspicious/noArrayIndexKey: the parts have no other identity and never move
                    <code key={i} className="font-mono text-[0.8125rem] text-ink">
                      {text}
                    </code>
                  ) : (
                    text
                  ),
                )}
                <span className="block font-mono text-[0.8125rem] whitespace-pre-wrap">
                  Example: {example}
                </span>
              </dd>
            </div>
          ))}
        </dl>
      </details>
    </div>
  )
}
