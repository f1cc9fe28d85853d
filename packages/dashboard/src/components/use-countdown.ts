import { useEffect, useReducer } from 'react'

const OFTEN_MS = 250

/** The whole seconds left until the deadline by this browser's clock; 0 after it. */
export function useCountdown(deadline: number): number {
  const [, look] = useReducer((times: number) => times + 1, 0)
  useEffect(() => {
    if (deadline <= Date.now()) return
    const timer = setInterval(look, OFTEN_MS)
    // Browsers throttle timers of hidden pages, so update as soon as the page is visible.
    document.addEventListener('visibilitychange', look)
    return () => {
      clearInterval(timer)
      document.removeEventListener('visibilitychange', look)
    }
  }, [deadline])
  return Math.max(0, Math.ceil((deadline - Date.now()) / 1000))
}
