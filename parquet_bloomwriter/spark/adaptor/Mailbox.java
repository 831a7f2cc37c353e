package bloomwriter;

import java.lang.ref.WeakReference;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The requests that wait for Python, and the way back for their answers.
 *
 * Threads of the driver's Python fetch requests by `next` and bring answers by `answer`. They call Java
 * over the connections of the session's gateway, which py4j opens only to who knows the gateway's
 * secret. So nothing listens for requests. The other way, by which Java calls objects of Python, is
 * not used: its server takes calls from every user of the machine.
 *
 * A request that Python does not answer fails, and the rules leave the plan as it is.
 */
public final class Mailbox {
    /** So long a thread of Python waits in `next`; then it comes again, which shows that it lives. */
    private static final long WAIT_S = 10;
    /** Python has ended if it has not come for so long. */
    private static final long SILENCE_NS = TimeUnit.SECONDS.toNanos(60);
    /** No request is waited for any longer, even if Python lives. */
    private static final long PATIENCE_NS = TimeUnit.SECONDS.toNanos(600);

    /** The bridge that asks. The gateway keeps a mailbox, but not the bridge. */
    private final WeakReference<Object> owner;
    private final AtomicLong count = new AtomicLong();
    /** Requests that no thread of Python has fetched. */
    private final BlockingQueue<Request> waiting = new LinkedBlockingQueue<Request>();
    /** Requests that have no answer, by number. */
    private final Map<String, Request> open = new ConcurrentHashMap<String, Request>();
    /** When Python came last, by `System.nanoTime`. */
    private volatile long heard = System.nanoTime();

    Mailbox(Object owner) {
        this.owner = new WeakReference<Object>(owner);
    }

    /** Send a request to Python, and return the answer. */
    String ask(String text) throws Exception {
        Request request = new Request(Long.toString(this.count.incrementAndGet()), text);
        long asked = System.nanoTime();
        this.open.put(request.number, request);
        this.waiting.add(request);
        try {
            while (true) {
                long now = System.nanoTime();
                if (now - this.heard > SILENCE_NS || now - asked > PATIENCE_NS) {
                    throw new IllegalStateException("Python does not answer");
                }
                try {
                    return (String) request.answer.get(1, TimeUnit.SECONDS);
                } catch (TimeoutException error) {
                    continue;
                }
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt(); // whoever plans the query is to notice
            throw error;
        } finally {
            this.open.remove(request.number);
            this.waiting.remove(request);
        }
    }

    /**
     * Wait for a request; called by Python.
     *
     * @return the request's number, a space and the request; "" if there was none for a while; null if
     *     there will be none, because the bridge is gone
     */
    public String next() throws Exception {
        this.heard = System.nanoTime();
        if (this.owner.get() == null) {
            return null;
        }
        Request request = (Request) this.waiting.poll(WAIT_S, TimeUnit.SECONDS);
        this.heard = System.nanoTime();
        return request == null ? "" : request.number + " " + request.text;
    }

    /** Take the answer to a request; called by Python. */
    public void answer(String number, String text) {
        Request request = (Request) this.open.get(number);
        if (request != null) {
            request.answer.complete(text);
        }
    }

    private static final class Request {
        final String number;
        final String text;
        final CompletableFuture<String> answer = new CompletableFuture<String>();

        Request(String number, String text) {
            this.number = number;
            this.text = text;
        }
    }
}
