import type { ComponentProps } from 'react'

export type ButtonVariant = 'primary' | 'secondary' | 'quiet' | 'danger' | 'warning'
type ButtonSize = 'normal' | 'small'

const SHAPE =
  'inline-flex cursor-pointer items-center justify-center gap-2 rounded-lg border text-center font-medium no-underline transition-colors duration-100 aria-disabled:cursor-default aria-disabled:opacity-60'

const SIZES: Record<ButtonSize, string> = {
  normal: 'min-h-11 px-4 py-2 text-base leading-5',
  small: 'min-h-9 px-3 py-1.5 text-sm leading-5',
}

const VARIANTS: Record<ButtonVariant, string> = {
  primary: 'border-transparent bg-accent text-on-accent not-aria-disabled:hover:bg-accent-strong',
  secondary:
    'border-line-strong bg-surface text-ink not-aria-disabled:hover:border-ink not-aria-disabled:hover:bg-sunken',
  quiet:
    'border-transparent bg-transparent text-accent not-aria-disabled:hover:bg-accent-wash not-aria-disabled:hover:text-accent-strong',
  danger: 'border-transparent bg-bad text-on-bad not-aria-disabled:hover:opacity-90',
  /** Opens a dialog in which the destructive action is confirmed. */
  warning: 'border-bad bg-surface text-bad not-aria-disabled:hover:bg-bad-wash',
}

/** The button style, for links. */
export function buttonClass(variant: ButtonVariant = 'secondary', size: ButtonSize = 'normal') {
  return `${SHAPE} ${SIZES[size]} ${VARIANTS[variant]}`
}

interface ButtonProps extends Omit<ComponentProps<'button'>, 'disabled'> {
  readonly variant?: ButtonVariant
  readonly size?: ButtonSize
  /** The action is running. The button keeps its place and the focus, and ignores clicks. */
  readonly pending?: boolean
  /** The button ignores clicks, but can still be focused. */
  readonly disabled?: boolean
}

export function Button({
  variant,
  size,
  pending = false,
  disabled = false,
  type = 'button',
  className = '',
  onClick,
  children,
  ...rest
}: ButtonProps) {
  const idle = pending || disabled
  return (
    <button
      {...rest}
      type={type}
      className={`${buttonClass(variant, size)} ${className}`}
      aria-disabled={idle || undefined}
      aria-busy={pending || undefined}
      onClick={(event) => (idle ? event.preventDefault() : onClick?.(event))}
    >
      {pending && <Spinner />}
      {children}
    </button>
  )
}
/** Screen readers use `aria-busy` instead. */
function Spinner() {
  return (
    <span
      aria-hidden="true"
      className="size-4 shrink-0 animate-spin rounded-full border-2 border-current border-r-transparent"
    />
  )
}
