const DISC = 'M12 1a11 11 0 1 0 0 22 11 11 0 0 0 0-22Z'

/** The icons differ in shape, so that they do not depend on colour. */
const PATHS = {
  tick: `${DISC}m5.9 8.1-7.3 8-4.5-4.3 1.7-1.8 2.7 2.6 5.6-6.1 1.8 1.6Z`,
  bar: `${DISC}m-6 9.7h12v2.6H6v-2.6Z`,
  clock: `${DISC}m-1.3 4.6h2.6v5.9l3.9 3.9-1.8 1.8-4.7-4.7V5.6Z`,
  ring: `${DISC}m0 2.6a8.4 8.4 0 1 1 0 16.8 8.4 8.4 0 0 1 0-16.8Zm0 5.4a3 3 0 1 0 0 6 3 3 0 0 0 0-6Z`,
  warning:
    'M13.7 2.2 23 19a2 2 0 0 1-1.8 3H2.8A2 2 0 0 1 1 19l9.3-16.8a2 2 0 0 1 3.4 0ZM10.7 8v6.6h2.6V8h-2.6Zm0 8.4V19h2.6v-2.6h-2.6Z',
  question: `${DISC}M8.1 9.4h2.5c0-.9.6-1.5 1.5-1.5s1.5.5 1.5 1.2c0 .7-.4 1-1.2 1.6-1.1.8-1.6 1.6-1.6 3v.4h2.5v-.3c0-.8.3-1.1 1.1-1.7 1-.7 1.8-1.6 1.8-3.1 0-2-1.7-3.4-4.1-3.4-2.4 0-4 1.5-4 3.8Zm2.6 6.1v2.7h2.7v-2.7h-2.7Z`,
} as const

export type IconName = keyof typeof PATHS

interface IconProps {
  readonly name: IconName
  /** Tailwind classes for size and colour. */
  readonly className: string
}

/** Hidden from screen readers, because the text beside it says the same. */
export function Icon({ name, className }: IconProps) {
  return (
    <svg viewBox="0 0 24 24" fill="currentColor" aria-hidden="true" className={className}>
      <path fillRule="evenodd" clipRule="evenodd" d={PATHS[name]} />
    </svg>
  )
}
