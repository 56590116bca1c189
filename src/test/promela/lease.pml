/*
 * The protocol of a tick, from its claim to its effect: two nodes, one job with two slots, one pair of sink and resource. All orders of
 * steps are tried, and all places for at most FAULTS faults. Time is not counted: a lease may end whenever the contract lets it.
 *
 * What has to fail, and does:
 *   UNFENCED_STORE    the store takes a completion from whoever sends one
 *   UNFENCED_SINK     the sink looks at neither key nor token, and what got no answer is sent again
 *   TOKENS_ONLY       the sink looks at the token and not at the run: a node that lost its answer is let in twice
 *   EARLY_RECEIPT     the receipt is stored before the sink is called
 *   TWO_TRANSACTIONS  the outcome and its effect are not stored together
 * What has to pass beside the protocol itself:
 *   PLAIN_SINK        the sink looks at neither key nor token, and what got no answer waits for a person
 *
 * Numbers in comments are those of the contract.
 */
#ifndef FAULTS
#define FAULTS 3
#endif
#define NOBODY 9

mtype = { NONE, PENDING, SENDING, UNKNOWN, CONFIRMED, REFUSED, PARKED };

/* The store: the row of the lease, the ticks, the outbox, the lease of the pair. */
byte fence;
byte holder = NOBODY;
byte runId;                       /* given once */
bool live;                      /* now < expires_at, by the store's clock */
bool done[2];
mtype outbox[2] = NONE;
byte outboxFence[2];
byte outboxRun[2];
byte sender = NOBODY;
bool senderLive;

/* The sink. */
byte highest;
byte highestRun;
bool key[2];

/* The nodes. */
byte working[2];                /* the run for which a node has a child, or waits for the answer to its completion */
bool child[2];
bool sending[2];
bool paused[2];                 /* SIGSTOP: the child goes on */
bool thawed[2];                 /* has not yet looked at the clock since */
byte deaths[2];
byte faults = FAULTS;

/* What no part of the protocol looks at. */
byte taken[2];

/* A call is on its way until it is taken or lost, whatever became of its sender. */
chan toStore[2] = [2] of { byte, byte, byte };      /* fence, run, slot */
chan fromStore[2] = [2] of { byte, bool };          /* run, stored */
chan toSink[2] = [2] of { byte, byte, byte };       /* fence, run, slot */
chan fromSink[2] = [2] of { byte, bool };           /* slot, accepted */

#define FULL(c)      (len(c) == 2)
#define ON           (!paused[me] && seen == deaths[me])
#define DEAD         (seen != deaths[me])
#define MINE         (live && holder == me && runId == myRun)
#define OPEN(s)      (outbox[s] == PENDING || outbox[s] == SENDING || outbox[s] == UNKNOWN)
#define WAITS(s)     (OPEN(s) || outbox[s] == PARKED)
#define TURN(s)      (OPEN(s) && !(WAITS(1 - s) && outboxFence[1 - s] < outboxFence[s]))       /* 5.7 */
#define SENDER       (sender == me && senderLive)
#define ENDED(s)     (done[s] && !WAITS(s) && outbox[s] != NONE)

inline grant(s) {                                   /* 2.4: in one step */
    fence++; runId++; holder = me; live = true;
    /* S3: who has a child without a lease stands still, or did until now */
    assert(!child[1 - me] || paused[1 - me] || thawed[1 - me]);
    child[me] = true; working[me] = runId;
    myFence = fence; myRun = runId; slot = s
}

inline stop() { child[me] = false; working[me] = 0; thawed[me] = false }

active [2] proctype Runner() {
    byte me = _pid;
    byte myFence, myRun, slot, seen;
    bool stored;

end_idle:
    atomic {
        !paused[me] && (holder == NOBODY || !live) && (!done[0] || !done[1]) &&
        (me == 0 || runId > 0) ->                   /* the nodes are alike: let the first to claim be called 0 */
        seen = deaths[me]; stored = false; thawed[me] = false;
        if
        :: !done[0] -> grant(0)
        :: else -> grant(1)
        fi
    }
    if
    :: atomic { ON && MINE -> child[me] = false; thawed[me] = false }
    :: atomic { ON && !MINE && thawed[me] -> child[me] = false; thawed[me] = false }     /* the child's end is seen before the clock */
    :: atomic { ON && !MINE -> stop(); goto end_idle }
    :: atomic { ON && faults > 0 -> faults--; stop(); goto end_idle }                    /* no renewal came through: 2.12 */
    :: atomic { DEAD -> goto end_idle }
    fi;
complete:
    if
    :: atomic { ON && !FULL(toStore[me]) -> toStore[me]!myFence, myRun, slot }
    :: atomic { DEAD -> goto end_idle }
    fi;
    do
    :: atomic { ON && fromStore[me]?[eval(myRun), _] -> fromStore[me]?_, stored; stop(); goto end_idle }
    :: atomic { ON && nempty(fromStore[me]) && !fromStore[me]?[eval(myRun), _] -> fromStore[me]?_, _ }
    :: atomic { ON && faults > 0 -> faults--; break }                                    /* not heard in time */
    :: atomic { ON && empty(toStore[me]) && empty(fromStore[me]) -> break }              /* lost */
    :: atomic { DEAD -> goto end_idle }
    od;
    if                                                                                   /* 3.13 */
    :: atomic { ON && MINE && !done[slot] -> goto complete }
    :: atomic { ON && !(MINE && !done[slot]) -> stop(); goto end_idle }
    :: atomic { DEAD -> goto end_idle }
    fi
}

inline confirm() { outbox[slot] = CONFIRMED; assert(taken[slot] == 1) }

inline unanswered() {
    if
    :: SENDER && outbox[slot] == SENDING -> outbox[slot] = UNKNOWN
    :: else
    fi
}

active [2] proctype Dispatcher() {
    byte me = _pid - 2;
    byte slot, seen;
    bool ok;

end_idle:
    atomic {
        !paused[me] && (sender == NOBODY || !senderLive) && (TURN(0) || TURN(1)) ->
        seen = deaths[me];
        sender = me; senderLive = true; sending[me] = true;
        if
        :: TURN(0) -> slot = 0
        :: else -> slot = 1
        fi;
        if
        :: outbox[slot] == SENDING -> outbox[slot] = UNKNOWN                             /* 5.3 */
        :: else
        fi
    }
    if
    :: atomic {
           ON && SENDER && outbox[slot] == UNKNOWN ->                                    /* 5.4 */
#if defined(PLAIN_SINK)
           outbox[slot] = PARKED
#elif defined(UNFENCED_SINK)
           outbox[slot] = PENDING
#else
           if
           :: key[slot] -> confirm()
           :: else -> outbox[slot] = PENDING
           fi
#endif
           ; goto free
       }
    :: atomic {
           ON && SENDER && outbox[slot] == PENDING ->                                    /* the intent, before the call */
#ifdef EARLY_RECEIPT
           confirm()
#else
           outbox[slot] = SENDING
#endif
       }
    :: atomic { ON && !(SENDER && (outbox[slot] == UNKNOWN || outbox[slot] == PENDING)) -> goto free }
    :: atomic { DEAD -> goto end_idle }
    fi;
    if                                                                                   /* between check and call it may stand still */
    :: atomic { ON && !FULL(toSink[me]) -> toSink[me]!outboxFence[slot], outboxRun[slot], slot }
    :: atomic { DEAD -> goto end_idle }
    fi;
    do
    :: atomic { ON && fromSink[me]?[eval(slot), _] -> fromSink[me]?_, ok };
       if
       :: atomic { ON && SENDER && outbox[slot] == SENDING && ok -> confirm(); break }
       :: atomic { ON && SENDER && outbox[slot] == SENDING && !ok -> outbox[slot] = REFUSED; assert(taken[slot] == 0); break }
       :: atomic { ON && !(SENDER && outbox[slot] == SENDING) -> break }
       :: atomic { DEAD -> goto end_idle }
       fi
    :: atomic { ON && nempty(fromSink[me]) && !fromSink[me]?[eval(slot), _] -> fromSink[me]?_, _ }
    :: atomic { ON && faults > 0 -> faults--; unanswered(); break }                      /* not heard in time */
    :: atomic { ON && empty(toSink[me]) && empty(fromSink[me]) -> unanswered(); break }  /* lost */
    :: atomic { ON && !SENDER -> break }                                                 /* another one has taken over */
    :: atomic { DEAD -> goto end_idle }
    od;
free:
    if
    :: atomic {
           ON ->
           if
           :: sender == me -> sender = NOBODY; senderLive = false
           :: else
           fi;
           sending[me] = false; goto end_idle
       }
    :: atomic { DEAD -> goto end_idle }
    fi
}

inline completion(n) {                                                                   /* 3.12: one transaction */
#ifdef UNFENCED_STORE
    stored = true;
#else
    stored = (live && holder == n && fence == f && runId == r && !done[s]);
#endif
    if
    :: stored ->
       assert(!done[s]); done[s] = true;                                                        /* S8 */
       assert(f == fence && r == runId);                                                   /* S2 */
       if
       :: outbox[s] = PENDING; outboxFence[s] = f; outboxRun[s] = r
#ifdef TWO_TRANSACTIONS
       :: faults > 0 -> faults--
#endif
       fi;
       holder = NOBODY; live = false
    :: else
    fi;
    if
    :: !FULL(fromStore[n]) -> fromStore[n]!r, stored
    :: else
    fi
}

active proctype Store() {
    byte f, r, s;
    bool stored;
end_idle:
    do
    :: atomic { toStore[0]?f, r, s -> completion(0) }
    :: atomic { toStore[1]?f, r, s -> completion(1) }
    :: atomic { nempty(toStore[0]) && faults > 0 -> faults--; toStore[0]?_, _, _ }
    :: atomic { nempty(toStore[1]) && faults > 0 -> faults--; toStore[1]?_, _, _ }
    od
}

inline request(n) {                                                                      /* 5.5 */
#if defined(PLAIN_SINK) || defined(UNFENCED_SINK)
    ok = true; taken[s]++;
#else
    if
#ifdef TOKENS_ONLY
    :: f < highest -> ok = false
#else
    :: key[s] -> ok = true                                                               /* its first receipt once more */
    :: !key[s] && (f < highest || (f == highest && r != highestRun)) -> ok = false
#endif
    :: else ->
       highest = f; highestRun = r; key[s] = true; ok = true; taken[s]++
    fi;
#endif
    assert(taken[s] <= 1);                                                               /* S15 */
    assert(done[s]);                                                                     /* 5.2 */
    if
    :: !FULL(fromSink[n]) -> fromSink[n]!s, ok
    :: else
    fi
}

active proctype Sink() {
    byte f, r, s;
    bool ok;
end_idle:
    do
    :: atomic { toSink[0]?f, r, s -> request(0) }
    :: atomic { toSink[1]?f, r, s -> request(1) }
    :: atomic { nempty(toSink[0]) && faults > 0 -> faults--; toSink[0]?_, _, _ }
    :: atomic { nempty(toSink[1]) && faults > 0 -> faults--; toSink[1]?_, _, _ }
    od
}

inline die(n) {                                                                          /* 6.0: its guard leaves no child behind */
    faults--; deaths[n]++; child[n] = false; working[n] = 0; sending[n] = false; paused[n] = false; thawed[n] = false
}

active proctype Trouble() {
end_idle:
    do
    :: atomic { faults > 0 && !paused[0] -> faults--; paused[0] = true }
    :: atomic { faults > 0 && !paused[1] -> faults--; paused[1] = true }
    :: atomic { faults > 0 -> die(0) }
    :: atomic { faults > 0 -> die(1) }
    /* 2.12: the child is dead by then, and the completion is late */
    :: atomic { faults > 0 && live && !child[holder] -> faults--; live = false }
    :: atomic { faults > 0 && senderLive -> faults--; senderLive = false }
    od
}

/* What comes by itself: a lease that nobody renews ends, who was stopped goes on, and a person looks. */
active proctype Time() {
end_idle:
    do
    :: atomic { live && (paused[holder] || working[holder] != runId) -> live = false }
    :: atomic { senderLive && (paused[sender] || !sending[sender]) -> senderLive = false }
    :: atomic { paused[0] -> paused[0] = false; thawed[0] = child[0] }
    :: atomic { paused[1] -> paused[1] = false; thawed[1] = child[1] }
#ifdef PLAIN_SINK
    /* 5.7: what waits for a person keeps the turn until it is settled */
    :: atomic { outbox[0] == PARKED -> outbox[0] = CONFIRMED }
    :: atomic { outbox[1] == PARKED -> outbox[1] = CONFIRMED }
#endif
    od
}

ltl comes_to_an_end { <> (ENDED(0) && ENDED(1)) }

