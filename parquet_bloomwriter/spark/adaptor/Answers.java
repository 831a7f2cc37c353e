package bloomwriter;

import com.fasterxml.jackson.databind.JsonNode;
import java.lang.ref.WeakReference;
import java.util.HashMap;
import java.util.Iterator;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import org.apache.spark.sql.catalyst.QueryPlanningTracker;
import scala.Option;

/**
 * Python's answers to the requests of queries that are being planned. Safe in threads.
 *
 * Spark applies a rule until the plan does not change any more, and one condition can stand in several
 * places of a query. Python is asked once for a query, which is then planned by one version of an index.
 * The next query asks anew, because an index may have changed. What an answer says of a file remains
 * true, whatever becomes of the index: it is about a path, a size and a time of modification.
 *
 * A query is known by its QueryPlanningTracker. Where Spark plans without one, nothing is kept.
 */
final class Answers {
    private static final int MAX_QUERIES = 16;
    /** For one query. */
    private static final int MAX_ANSWERS = 32;

    /** The queries that asked last, the newest at the head. */
    private final List<Query> queries = new LinkedList<Query>();

    /** Return the answer that the query of this thread got to a request, or null. */
    synchronized JsonNode get(String request) {
        QueryPlanningTracker tracker = tracker();
        Query query = tracker == null ? null : this.find(tracker);
        return query == null ? null : (JsonNode) query.answers.get(request);
    }

    /** Keep an answer as long as the query of this thread is being planned. */
    synchronized void put(String request, JsonNode answer) {
        QueryPlanningTracker tracker = tracker();
        if (tracker == null) {
            return;
        }
        Query query = this.find(tracker);
        if (query == null) {
            query = new Query(tracker);
            this.queries.add(0, query);
            if (this.queries.size() > MAX_QUERIES) {
                this.queries.remove(MAX_QUERIES);
            }
        }
        if (query.answers.size() < MAX_ANSWERS) {
            query.answers.put(request, answer);
        }
    }

    synchronized void clear() {
        this.queries.clear();
    }

    /** Return what is kept for a query, or null; forget queries that are no more. */
    private Query find(QueryPlanningTracker tracker) {
        Query found = null;
        for (Iterator<Query> i = this.queries.iterator(); i.hasNext();) {
            Query query = (Query) i.next();
            Object other = query.tracker.get();
            if (other == null) {
                i.remove();
            } else if (other == tracker) {
                found = query;
            }
        }
        return found;
    }

    private static QueryPlanningTracker tracker() {
        Option<QueryPlanningTracker> tracker = QueryPlanningTracker.get();
        return tracker.isEmpty() ? null : (QueryPlanningTracker) tracker.get();
    }

    /** The answers to one query. */
    private static final class Query {
        final WeakReference<QueryPlanningTracker> tracker;
        final Map<String, JsonNode> answers = new HashMap<String, JsonNode>();

        Query(QueryPlanningTracker tracker) {
            this.tracker = new WeakReference<QueryPlanningTracker>(tracker);
        }
    }
}
